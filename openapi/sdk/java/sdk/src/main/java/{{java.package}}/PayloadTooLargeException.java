package {{java.package}};

import java.net.http.HttpHeaders;
import java.time.Duration;

/** Status 413: the request, or what it asks for, is too large. */
public final class PayloadTooLargeException extends ApiException {
  private static final long serialVersionUID = 1L;

  PayloadTooLargeException(Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    super(attempt, status, headers, failure, retryAfter);
  }
}
