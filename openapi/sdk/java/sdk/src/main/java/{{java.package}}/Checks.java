package {{java.package}};

import java.net.URI;
import java.time.Duration;
import java.util.regex.Pattern;

/** What options must be like. A message never shows a value: it may be secret. */
final class Checks {
  private static final String TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
  private static final Pattern HEADER_NAME = Pattern.compile(TOKEN);
  private static final Pattern HEADER_VALUE = Pattern.compile("[\\t\\x20-\\x7e]*");

  private static final Pattern APP_NAME = Pattern.compile(TOKEN + "(/" + TOKEN + ")?");
  private static final Pattern OPERATION = Pattern.compile("[a-z][A-Za-z0-9]*\\.[a-z][A-Za-z0-9]*");

  private static final int LAST_PORT = 65_535;

  private Checks() {}

  static <T> T given(String name, T value) {
    if (value == null) throw new UsageException(name + " must not be null.");
    return value;
  }

  static Duration positive(String name, Duration value) {
    if (given(name, value).isZero() || value.isNegative()) throw new UsageException(name + " must be more than zero.");
    return value;
  }

  static int notNegative(String name, int value) {
    if (value < 0) throw new UsageException(name + " must be zero or more.");
    return value;
  }

  static long positive(String name, long value) {
    if (value < 1) throw new UsageException(name + " must be a whole number from 1.");
    return value;
  }

  static String appName(String name) {
    if (APP_NAME.matcher(given("appName", name)).matches()) return name;
    throw new UsageException("appName must be a name such as my-app or my-app/1.2.");
  }

  static String operation(String id) {
    if (OPERATION.matcher(given("operation", id)).matches()) return id;
    throw new UsageException("An operation has a name such as game.getById.");
  }

  static String headerName(String name) {
    if (!HEADER_NAME.matcher(given("The name of a header", name)).matches()) throw new UsageException("No header can have this name.");
    return name;
  }

  static String headerValue(String name, String value) {
    if (HEADER_VALUE.matcher(given(name, value)).matches()) return value;
    throw new UsageException(name + " has characters that a header cannot hold.");
  }

  /** The address without slashes at its end. */
  static String baseUrl(String url) {
    if (url == null || url.isBlank()) {
      throw new UsageException("There is no base URL: set baseUrl or {{environment}}_URL.");
    }
    if (isHttp(url)) return url.replaceFirst("/+$", "");
    throw new UsageException(
        "The base URL must be an http or https URL without user, password, query and fragment, such as {{homepage}}.");
  }

  private static boolean isHttp(String url) {
    try {
      URI uri = URI.create(url);
      boolean http = "http".equalsIgnoreCase(uri.getScheme()) || "https".equalsIgnoreCase(uri.getScheme());
      boolean isAddress = uri.getHost() != null && uri.getPort() <= LAST_PORT;
      return http && isAddress && uri.getRawUserInfo() == null && uri.getRawQuery() == null && uri.getRawFragment() == null;
    } catch (IllegalArgumentException error) {
      return false;
    }
  }
}
