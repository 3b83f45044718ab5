package {{java.package}};

import java.net.http.HttpHeaders;
import java.time.Duration;

/** Status 429: too many requests: see {@link #retryAfter()}. */
public final class RateLimitException extends ApiException {
  private static final long serialVersionUID = 1L;

  RateLimitException(Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    super(attempt, status, headers, failure, retryAfter);
  }
}
