package {{java.package}};

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.net.http.HttpHeaders;
import java.net.http.HttpResponse;

/** Tells what a reply is: an output, a failure of the service, or nothing of a gateway's. */
final class Replies {
  private static final int OK = 200;
  private static final int NOT_FOUND = 404;
  private static final String JSON = "application/json";
  private static final String FOREIGN = ", which is no reply of {{service}}";
  private static final String TOO_LONG = " with a body of more than " + LimitedBody.LIMIT_MIB + " MiB";

  private Replies() {}

  /**
   * Reads a reply.
   *
   * @param input what was sent, in its envelope
   * @throws ApiException if the service answered a failure
   * @throws UnexpectedReplyException if this is no reply of a gateway
   */
  static <T> ApiResponse<T> read(
      Operation<T> operation, JsonNode input, Attempt attempt, HttpResponse<Body> reply, GatewayClock clock) {
    int status = reply.statusCode();
    HttpHeaders headers = reply.headers();
    Body body = reply.body() == null ? Body.EMPTY : reply.body();
    if (body.isTooLong()) throw new UnexpectedReplyException(attempt, status, headers, body, TOO_LONG, null);
    String text = body.text();
    JsonNode json = Json.parse(text);
    if (status >= 400 && status < 600) {
      Failure failure = Failure.of(json, headers.firstValue("X-Request-Id").orElse(null), attempt.address());
      // Another server hasn't found the path: this says nothing of a record.
      if (status == NOT_FOUND && failure.reason() == null) {
        throw new UnexpectedReplyException(attempt, status, headers, body, FOREIGN, null);
      }
      throw ApiException.of(attempt, status, headers, failure, Retries.retryAfter(headers, clock).orElse(null));
    }
    if (status != OK) throw new UnexpectedReplyException(attempt, status, headers, body, FOREIGN, null);
    JsonNode output = json == null ? MissingNode.getInstance() : json.at("/result/data/json");
    String fault =
        output.isObject() ? faultOf(operation, input, output) : faultWithoutOutput(headers, body, json != null);
    if (fault != null) throw new UnexpectedReplyException(attempt, status, headers, body, fault, null);
    try {
      return new ApiResponse<>(Json.read(output, operation.output()), status, headers, attempt.number(), text);
    } catch (JsonProcessingException error) {
      throw new UnexpectedReplyException(attempt, status, headers, body, JsonFaults.of(error), error);
    }
  }

  /** What is wrong with a body that has no output. */
  private static String faultWithoutOutput(HttpHeaders headers, Body body, boolean isReadable) {
    boolean isJson = Texts.mediaType(headers).orElse(JSON).equals(JSON);
    return isJson || isReadable ? JsonFaults.of(body, isReadable) : FOREIGN;
  }

  /** What is wrong with an output, apart from the types of its members, or null. */
  private static String faultOf(Operation<?> operation, JsonNode input, JsonNode output) {
    for (String member : operation.members()) {
      if (!output.has(member)) return " whose output lacks " + member;
    }
    // Followed, it would lead here for ever.
    JsonNode next = output.path("nextCursor");
    if (next.isTextual() && next.equals(input.at("/json/cursor"))) {
      return " whose nextCursor is the cursor that was sent";
    }
    return null;
  }
}
