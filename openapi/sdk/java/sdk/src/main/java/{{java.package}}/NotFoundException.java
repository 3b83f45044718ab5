package {{java.package}};

import java.net.http.HttpHeaders;
import java.time.Duration;

/** Status 404: there is no such record or operation. */
public final class NotFoundException extends ApiException {
  private static final long serialVersionUID = 1L;

  NotFoundException(Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    super(attempt, status, headers, failure, retryAfter);
  }
}
