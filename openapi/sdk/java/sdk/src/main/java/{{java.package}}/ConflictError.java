package {{java.package}};

import java.net.http.HttpHeaders;
import java.time.Duration;

/** Status 409: something else is going on with the same. */
public final class ConflictError extends ApiError {
  private static final long serialVersionUID = 1L;

  ConflictError(Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    super(attempt, status, headers, failure, retryAfter);
  }
}
