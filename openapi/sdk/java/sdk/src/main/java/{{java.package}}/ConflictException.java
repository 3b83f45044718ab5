package {{java.package}};

import java.net.http.HttpHeaders;
import java.time.Duration;

/** Status 409: something else is going on with the same. */
public final class ConflictException extends ApiException {
  private static final long serialVersionUID = 1L;

  ConflictException(Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    super(attempt, status, headers, failure, retryAfter);
  }
}
