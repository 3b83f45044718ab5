package {{java.package}};

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * An attempt that ended by itself. It has no key, no body and no headers.
 *
 * @param operation what was called, such as {@code game.list}
 * @param attempt its number within the call, from 1
 * @param status the HTTP status, absent if no whole reply came
 * @param reason the gateway's reason of a failure, such as {@code OVERLOADED}
 * @param error the name of the error's class, such as {@code ServerException}, absent on success
 * @param requestId finds the request in the operator's log, absent if the reply has none
 * @param duration how long this attempt took
 * @param pause how long the call waits before the next attempt, absent if there is none
 */
public record AttemptEvent(
    String operation,
    int attempt,
    OptionalInt status,
    Optional<String> reason,
    Optional<String> error,
    Optional<String> requestId,
    Duration duration,
    Optional<Duration> pause) {
  /** Describes an attempt that brought the output. */
  static AttemptEvent of(Attempt attempt, ApiResponse<?> response, Duration duration) {
    OptionalInt status = OptionalInt.of(response.status());
    return new AttemptEvent(
        attempt.operation(),
        attempt.number(),
        status,
        Optional.empty(),
        Optional.empty(),
        response.requestId(),
        duration,
        Optional.empty());
  }

  /** Describes an attempt that failed. */
  static AttemptEvent of(Attempt attempt, GatewayException error, Duration duration, Optional<Duration> pause) {
    OptionalInt status = OptionalInt.empty();
    Optional<String> reason = Optional.empty();
    Optional<String> requestId = Optional.empty();
    if (error instanceof ApiException api) {
      status = OptionalInt.of(api.status());
      reason = api.reason();
      requestId = api.requestId();
    } else if (error instanceof UnexpectedReplyException unexpected) {
      status = OptionalInt.of(unexpected.status());
      requestId = unexpected.requestId();
    }
    String name = error.getClass().getSimpleName();
    return new AttemptEvent(
        attempt.operation(), attempt.number(), status, reason, Optional.of(name), requestId, duration, pause);
  }

  /** The attempt in a line, as the log has it. */
  @Override
  public String toString() {
    StringBuilder line = new StringBuilder("%s attempt %d:".formatted(operation, attempt));
    status.ifPresent(code -> line.append(' ').append(code));
    reason.or(() -> error).ifPresent(word -> line.append(' ').append(word));
    line.append(" in ").append(Math.round(duration.toNanos() / 1e6)).append(" ms");
    requestId.ifPresent(id -> line.append(", request ").append(id));
    pause.ifPresent(wait -> line.append(", again in ").append(Texts.roundedSeconds(wait)));
    return line.toString().replaceAll("\\p{Cc}+", " ");
  }
}
