package {{java.package}};

import java.net.http.HttpHeaders;
import java.time.Duration;

/** Status 500 or more: something is wrong on the side of the service. */
public final class ServerException extends ApiException {
  private static final long serialVersionUID = 1L;

  ServerException(Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    super(attempt, status, headers, failure, retryAfter);
  }
}
