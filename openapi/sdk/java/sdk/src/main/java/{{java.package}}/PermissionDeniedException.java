package {{java.package}};

import java.net.http.HttpHeaders;
import java.time.Duration;

/** Status 403: the key lacks a scope, or the record is of someone else. */
public final class PermissionDeniedException extends ApiException {
  private static final long serialVersionUID = 1L;

  PermissionDeniedException(Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    super(attempt, status, headers, failure, retryAfter);
  }
}
