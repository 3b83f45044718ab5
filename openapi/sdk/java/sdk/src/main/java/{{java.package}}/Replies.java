package {{java.package}};

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.net.http.HttpHeaders;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** Tells what a reply is: an output, a failure of the service, or nothing of a gateway's. */
final class Replies {
  private static final int OK = 200;
  private static final int NOT_FOUND = 404;
  private static final String FOREIGN = ", which no content gateway answers";

  private Replies() {}

  /**
   * Reads a reply.
   *
   * @param input what was sent, in its envelope
   * @throws ApiException if the service answered a failure
   * @throws UnexpectedReplyException if this is no reply of a gateway
   */
  static <T> ApiResponse<T> read(
      Operation<T> operation, JsonNode input, Attempt attempt, HttpResponse<byte[]> reply, GatewayClock clock) {
    int status = reply.statusCode();
    HttpHeaders headers = reply.headers();
    String body = new String(reply.body(), StandardCharsets.UTF_8);
    JsonNode json = Json.parse(body);
    if (status >= 400 && status < 600) {
      Failure failure = Failure.of(json, headers.firstValue("X-Request-Id").orElse(null), attempt.address());
      // Another server hasn't found the path: this says nothing of a record.
      if (status == NOT_FOUND && failure.reason() == null) {
        throw new UnexpectedReplyException(attempt, status, headers, body, FOREIGN, null);
      }
      throw ApiException.of(attempt, status, headers, failure, Retries.retryAfter(headers, clock).orElse(null));
    }
    boolean isJson = json != null || Texts.mediaType(headers).equals(Optional.of("application/json"));
    if (status != OK || !isJson) {
      throw new UnexpectedReplyException(attempt, status, headers, body, FOREIGN, null);
    }
    JsonNode output = json == null ? MissingNode.getInstance() : json.at("/result/data/json");
    if (!output.isObject()) {
      throw new UnexpectedReplyException(attempt, status, headers, body, " without the gateway's envelope", null);
    }
    for (String member : operation.members()) {
      if (output.has(member)) continue;
      throw new UnexpectedReplyException(attempt, status, headers, body, " whose output lacks " + member, null);
    }
    // Followed, it would lead here for ever.
    if (output.path("nextCursor").isTextual() && output.path("nextCursor").equals(input.at("/json/cursor"))) {
      String fault = " whose nextCursor is the cursor that was sent";
      throw new UnexpectedReplyException(attempt, status, headers, body, fault, null);
    }
    try {
      return new ApiResponse<>(Json.read(output, operation.output()), status, headers, attempt.number(), body);
    } catch (JsonProcessingException error) {
      String fault = " whose output is not readable: " + error.getOriginalMessage().replaceAll("\\s+", " ");
      throw new UnexpectedReplyException(attempt, status, headers, body, fault, error);
    }
  }
}
