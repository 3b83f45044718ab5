package {{java.package}};

import java.net.http.HttpHeaders;
import java.time.Duration;

/** Status 401: no API key, or one that does not count. */
public final class AuthenticationException extends ApiException {
  private static final long serialVersionUID = 1L;

  AuthenticationException(Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    super(attempt, status, headers, failure, retryAfter);
  }
}
