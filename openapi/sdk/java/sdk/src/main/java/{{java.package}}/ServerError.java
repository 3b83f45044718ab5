package {{java.package}};

import java.net.http.HttpHeaders;
import java.time.Duration;

/** Status 500 or more: something is wrong on the side of the service. */
public final class ServerError extends ApiError {
  private static final long serialVersionUID = 1L;

  ServerError(Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    super(attempt, status, headers, failure, retryAfter);
  }
}
