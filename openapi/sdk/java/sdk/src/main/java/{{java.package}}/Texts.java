package {{java.package}};

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.net.ConnectException;
import java.net.http.HttpHeaders;
import java.nio.channels.UnresolvedAddressException;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;

/** What the messages of errors are made of. */
final class Texts {
  private Texts() {}

  static String isItOne(Attempt attempt) {
    return " Is " + attempt.origin() + " {{service}}?";
  }

  /** {@code  (request 019a…, after 3 attempts)}, or what there is of it. */
  static String tail(Attempt attempt, String requestId) {
    String request = requestId == null ? "" : "request " + requestId;
    String after = attempt.number() == 1 ? "" : "after " + attempt.count();
    String both = request + (request.isEmpty() || after.isEmpty() ? "" : ", ") + after;
    return both.isEmpty() ? "" : " (" + both + ")";
  }

  /** {@code  Retry after 61 s.}, or nothing. */
  static String retry(Duration wait) {
    if (wait == null || wait.isZero()) return "";
    return " Retry after " + (wait.getSeconds() + (wait.getNano() > 0 ? 1 : 0)) + " s.";
  }

  /** {@code text/html}, or nothing. */
  static Optional<String> mediaType(HttpHeaders headers) {
    String type = headers.firstValue("Content-Type").orElse("").split(";")[0].strip().toLowerCase(Locale.ROOT);
    return type.isEmpty() ? Optional.empty() : Optional.of(type);
  }

  /** {@code 0.2 s}. */
  static String seconds(Duration duration) {
    return BigDecimal.valueOf(duration.toNanos(), 9).stripTrailingZeros().toPlainString() + " s";
  }

  /** {@code 0.41 s}, to a hundredth. */
  static String roundedSeconds(Duration duration) {
    BigDecimal seconds = BigDecimal.valueOf(duration.toNanos(), 9).setScale(2, RoundingMode.HALF_UP);
    return seconds.stripTrailingZeros().toPlainString() + " s";
  }

  /** The cause in one line: what the innermost that says something says. Some of java.net.http say nothing. */
  static String cause(Throwable cause) {
    if (Causes.has(cause, UnresolvedAddressException.class)) return "unknown host";
    String text = null;
    for (Throwable inner = cause; inner != null; inner = inner.getCause()) {
      if (inner.getMessage() != null) text = inner.getMessage();
    }
    if (text != null) return text.replaceAll("\\s+", " ");
    return cause instanceof ConnectException ? "connection refused" : cause.getClass().getSimpleName();
  }
}
