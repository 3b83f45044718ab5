package {{java.package}};

import java.net.http.HttpHeaders;
import java.time.Duration;

/** Status 413: the request, or what it asks for, is too large. */
public final class PayloadTooLargeError extends ApiError {
  private static final long serialVersionUID = 1L;

  PayloadTooLargeError(Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    super(attempt, status, headers, failure, retryAfter);
  }
}
