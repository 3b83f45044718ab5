package {{java.package}};

import java.net.http.HttpHeaders;
import java.time.Duration;

/** Status 400: a request that the service cannot read, or whose input is faulty: see {@link #issues()}. */
public final class BadRequestException extends ApiException {
  private static final long serialVersionUID = 1L;

  BadRequestException(Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    super(attempt, status, headers, failure, retryAfter);
  }
}
