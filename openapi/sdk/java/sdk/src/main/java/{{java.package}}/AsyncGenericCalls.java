package {{java.package}};

import com.fasterxml.jackson.databind.JsonNode;
import java.util.concurrent.CompletableFuture;

/** Calls of operations by their names, such as those that are newer than this library. */
abstract class AsyncGenericCalls {
  private final Transport transport;

  AsyncGenericCalls(Transport transport) {
    this.transport = transport;
  }

  /**
   * Calls an operation by its name. One that this library doesn't know is sent an {@code Idempotency-Key}, so that it can
   * be tried again.
   *
   * @param operation such as {@code game.getById}
   * @param input the parameters: a map, a tree of JSON, an input of another operation, or null for none
   * @return what becomes the output, an object of JSON, or fails with a {@link GatewayException}
   * @throws UsageException if no operation has such a name, or no object of JSON can be made of the input
   */
  public CompletableFuture<JsonNode> call(String operation, Object input) {
    return call(operation, input, JsonNode.class, null);
  }

  /**
   * Calls an operation by its name, as {@link #call(String, Object)} does.
   *
   * @param <T> the type of the output
   * @param operation such as {@code game.getById}
   * @param input the parameters, or null for none
   * @param output the class of the output: one of Jackson's trees, of this library's models, or of your own
   * @param options what this call does otherwise, or null
   * @return what becomes the output, or fails with a {@link GatewayException}
   * @throws UsageException if no operation has such a name, or no object of JSON can be made of the input
   */
  public <T> CompletableFuture<T> call(String operation, Object input, Class<T> output, CallOptions options) {
    return Futures.map(callWithResponse(operation, input, output, options), ApiResponse::data);
  }

  /**
   * Calls an operation by its name, as {@link #call(String, Object)} does, and also returns status, headers and more.
   *
   * @param <T> the type of the output
   * @param operation such as {@code game.getById}
   * @param input the parameters, or null for none
   * @param output the class of the output: one of Jackson's trees, of this library's models, or of your own
   * @param options what this call does otherwise, or null
   * @return what becomes the output and what came along with it, or fails with a {@link GatewayException}
   * @throws UsageException if no operation has such a name, or no object of JSON can be made of the input
   */
  public <T> CompletableFuture<ApiResponse<T>> callWithResponse(
      String operation, Object input, Class<T> output, CallOptions options) {
    return transport.async(Operation.named(operation, output), input, options);
  }
}
