package {{java.package}};

import java.time.Duration;

/** No reply came in time, or no connection. A write may have been done or not. */
public final class ApiTimeoutException extends ApiConnectionException {
  private static final long serialVersionUID = 1L;

  private ApiTimeoutException(Attempt attempt, String what, Duration limit, Throwable cause) {
    super(attempt, "no %s %s within %s, %s".formatted(what, attempt.origin(), Texts.seconds(limit), attempt.count()), cause);
  }

  static ApiTimeoutException ofReply(Attempt attempt, Duration timeout, Throwable cause) {
    return new ApiTimeoutException(attempt, "reply from", timeout, cause);
  }

  static ApiTimeoutException ofConnection(Attempt attempt, Duration connectTimeout, Throwable cause) {
    return new ApiTimeoutException(attempt, "connection to", connectTimeout, cause);
  }
}
