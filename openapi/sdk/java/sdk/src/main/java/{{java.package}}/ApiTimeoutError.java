package {{java.package}};

import java.time.Duration;

/** No reply came in time, or no connection. A write may have been done or not. */
public final class ApiTimeoutError extends ApiConnectionError {
  private static final long serialVersionUID = 1L;

  private ApiTimeoutError(Attempt attempt, String what, Duration limit, Throwable cause) {
    super(attempt, "no %s %s within %s, %s".formatted(what, attempt.origin(), Texts.seconds(limit), attempt.count()), cause);
  }

  static ApiTimeoutError ofReply(Attempt attempt, Duration timeout, Throwable cause) {
    return new ApiTimeoutError(attempt, "reply from", timeout, cause);
  }

  static ApiTimeoutError ofConnection(Attempt attempt, Duration connectTimeout, Throwable cause) {
    return new ApiTimeoutError(attempt, "connection to", connectTimeout, cause);
  }
}
