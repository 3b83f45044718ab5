// {{#events}}
package {{java.package}};

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Opens a stream of events. An attempt lasts until the first message, which is given back with the stream. */
final class StreamCall extends Call<StreamCall.Opened> {
  private static final String FOREIGN = ", which is no stream of events";

  /**
   * An open stream.
   *
   * @param stream what follows the first message
   * @param first the first message
   */
  record Opened(EventStream stream, Message first) {}

  private final Transport transport;
  private final ObjectNode input;
  private final CallOptions options;
  private volatile EventStream stream;
  private volatile Message first;

  /** @param options those of the client included */
  StreamCall(Transport transport, Operation<Opened> operation, ObjectNode input, CallOptions options) {
    super(transport, new Turns(1), operation, Json.envelopeOf(input), options);
    this.transport = transport;
    this.input = input;
    this.options = options;
  }

  @Override
  CompletableFuture<HttpResponse<Body>> send(Operation<Opened> operation, int retries) {
    first = null;
    EventStream opening = new EventStream();
    stream = opening;
    CompletableFuture<HttpResponse<Body>> begun =
        Futures.compose(
            transport.open(operation.path(), input, options, retries, reply -> new StreamReply(opening, reply)),
            reply -> {
              if (opening.headers() == null) return CompletableFuture.completedFuture(reply);
              return Futures.map(firstOf(opening), message -> reply);
            },
            transport.executor());
    begun.whenComplete(
        (reply, failure) -> {
          if (failure != null) opening.close();
        });
    return begun.orTimeout(options.timeout.toNanos(), TimeUnit.NANOSECONDS);
  }

  private CompletableFuture<Message> firstOf(EventStream opening) {
    CompletableFuture<Message> message = new CompletableFuture<>();
    opening
        .next()
        .whenComplete(
            (came, failure) -> {
              first = came;
              if (failure == null) message.complete(came);
              else message.completeExceptionally(new EventStream.Ended(failure));
            });
    return message;
  }

  @Override
  ApiResponse<Opened> read(Operation<Opened> operation, Attempt attempt, HttpResponse<Body> reply) {
    if (first == null) {
      // Refusals are read as those of any call.
      if (reply.statusCode() != 200) Replies.read(operation, Json.parse("{}"), attempt, reply, transport.clock());
      throw new UnexpectedReplyException(attempt, reply.statusCode(), reply.headers(), reply.body(), FOREIGN, null);
    }
    if (first.isFailure()) {
      stream.close();
      throw failureOf(attempt, stream, first);
    }
    return new ApiResponse<>(new Opened(stream, first), 200, reply.headers(), attempt.number(), "");
  }

  /** The failure of which a message tells. */
  static ApiException failureOf(Attempt attempt, EventStream stream, Message message) {
    JsonNode body = Json.parse("{\"error\":" + message.data() + "}");
    int status = body == null ? 500 : body.at("/error/json/data/httpStatus").asInt(500);
    Failure failure = Failure.of(body, stream.headers().firstValue("X-Request-Id").orElse(null), attempt.address());
    Duration after = Retries.isPassing(status) ? stream.retry().orElse(null) : null;
    return ApiException.of(attempt, status, stream.headers(), failure, after);
  }
}
// {{/events}}
