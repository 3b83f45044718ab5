package {{java.package}};

import java.math.BigDecimal;
import java.net.http.HttpHeaders;
import java.security.cert.CertificateException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

/** Which calls are tried again, and when. */
final class Retries {
  /** A wait that would surprise in a library. */
  static final Duration TOO_LONG = Duration.ofSeconds(60);

  private static final double FIRST_WAIT_SECONDS = 0.5;
  private static final double LONGEST_WAIT_SECONDS = 8;
  private static final double JITTER = 0.25;
  private static final Set<Integer> STATUSES = Set.of(408, 429, 500, 502, 503, 504);

  private Retries() {}

  /** Whether a failure of this status may pass. */
  static boolean isPassing(int status) {
    return STATUSES.contains(status);
  }

  /** How long to wait before trying again; empty if that is of no use. */
  static Optional<Duration> waitAfter(GatewayException error, int attempts) {
    if (!isWorthwhile(error)) return Optional.empty();
    Optional<Duration> asked = error instanceof ApiException ? ((ApiException) error).retryAfter() : Optional.empty();
    return asked.isEmpty() ? Optional.of(backoff(attempts)) : asked.filter(wait -> wait.compareTo(TOO_LONG) < 0);
  }

  private static boolean isWorthwhile(GatewayException error) {
    if (error instanceof ApiConnectionException) {
      return !Causes.has(error, CertificateException.class) && !Causes.has(error, ProxyRefusal.class);
    }
    // It broke off on its way, as where a connection breaks.
    if (error instanceof UnexpectedReplyException) return ((UnexpectedReplyException) error).isCutOff();
    return error instanceof ApiException && isWorthwhile((ApiException) error);
  }

  static boolean isWorthwhile(ApiException error) {
    String asked = error.headers().firstValue("X-Should-Retry").orElse("");
    if (asked.equalsIgnoreCase("true")) return true;
    if (asked.equalsIgnoreCase("false")) return false;
    return isPassing(error.status())
        || (error.status() == 409 && error.reason().filter("IDEMPOTENCY_IN_PROGRESS"::equals).isPresent());
  }

  static Duration backoff(int attempts) {
    double seconds = Math.min(FIRST_WAIT_SECONDS * Math.pow(2, attempts - 1), LONGEST_WAIT_SECONDS);
    double shortened = seconds * (1 - ThreadLocalRandom.current().nextDouble(JITTER));
    return Duration.ofNanos((long) (shortened * 1e9));
  }

  /** What {@code Retry-After} asks for; empty if it says nothing that can be read. */
  static Optional<Duration> retryAfter(HttpHeaders headers, GatewayClock clock) {
    Optional<String> value = headers.firstValue("Retry-After").map(String::strip);
    if (value.isEmpty()) return Optional.empty();
    if (value.get().matches("\\d+(\\.\\d+)?")) return value.map(Retries::seconds);
    // From the reply's own date: the clocks of the two sides may differ.
    return value
        .flatMap(Retries::date)
        .map(then -> Duration.between(headers.firstValue("Date").flatMap(Retries::date).orElseGet(clock::now), then))
        .map(wait -> wait.isNegative() ? Duration.ZERO : wait);
  }

  private static Duration seconds(String digits) {
    BigDecimal nanoseconds = new BigDecimal(digits).movePointRight(9).min(BigDecimal.valueOf(Long.MAX_VALUE));
    return Duration.ofNanos(nanoseconds.longValue());
  }

  private static Optional<Instant> date(String text) {
    try {
      return Optional.of(ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant());
    } catch (DateTimeException error) {
      return Optional.empty();
    }
  }
}
