package {{java.package}};

import java.net.http.HttpHeaders;
import java.time.Duration;

/** Status 403: the key lacks a scope, or the record is of someone else. */
public final class PermissionDeniedError extends ApiError {
  private static final long serialVersionUID = 1L;

  PermissionDeniedError(Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    super(attempt, status, headers, failure, retryAfter);
  }
}
