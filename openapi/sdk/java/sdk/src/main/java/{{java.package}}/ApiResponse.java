package {{java.package}};

import java.net.http.HttpHeaders;
import java.util.Optional;

/**
 * What an operation answered, and what came along with it.
 *
 * @param <T> the type of the output
 * @param data the output
 * @param status the HTTP status
 * @param headers the headers of the reply
 * @param attempts how many attempts it took
 * @param body the reply as it came
 */
public record ApiResponse<T>(T data, int status, HttpHeaders headers, int attempts, String body) {
  /**
   * Finds the request in the operator's log.
   *
   * @return the request's id, if the reply has one
   */
  public Optional<String> requestId() {
    return headers.firstValue("X-Request-Id");
  }

  /**
   * How the caller stands with the service's limits.
   *
   * @return the limit of which least is left, if the reply tells
   */
  public Optional<RateLimit> rateLimit() {
    return headers.firstValue("RateLimit").flatMap(RateLimit::parse);
  }

  /**
   * Whether this is the answer to an earlier call with the same idempotency key.
   *
   * @return true if nothing was done again
   */
  public boolean replayed() {
    return headers.firstValue("Idempotency-Replayed").filter("true"::equals).isPresent();
  }
}
