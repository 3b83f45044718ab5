package {{java.package}};

import java.net.http.HttpHeaders;
import java.time.Duration;

/** Status 422: the idempotency key was used before, with another input. */
public final class UnprocessableError extends ApiError {
  private static final long serialVersionUID = 1L;

  UnprocessableError(Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    super(attempt, status, headers, failure, retryAfter);
  }
}
