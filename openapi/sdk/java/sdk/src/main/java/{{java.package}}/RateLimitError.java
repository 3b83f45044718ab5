package {{java.package}};

import java.net.http.HttpHeaders;
import java.time.Duration;

/** Status 429: too many requests: see {@link #retryAfter()}. */
public final class RateLimitError extends ApiError {
  private static final long serialVersionUID = 1L;

  RateLimitError(Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    super(attempt, status, headers, failure, retryAfter);
  }
}
