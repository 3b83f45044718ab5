package {{java.package}};

import java.net.http.HttpHeaders;
import java.time.Duration;

/** Status 422: the idempotency key was used before, with another input. */
public final class UnprocessableException extends ApiException {
  private static final long serialVersionUID = 1L;

  UnprocessableException(Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    super(attempt, status, headers, failure, retryAfter);
  }
}
