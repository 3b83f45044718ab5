package {{java.package}};

import com.fasterxml.jackson.databind.JsonNode;

/** Calls of operations by their names, such as those that are newer than this library. */
abstract class GenericCalls {
  private final Transport transport;

  GenericCalls(Transport transport) {
    this.transport = transport;
  }

  /**
   * Calls an operation by its name. One that this library doesn't know is sent an {@code Idempotency-Key}, so that it can
   * be tried again.
   *
   * @param operation such as {@code game.getById}
   * @param input the parameters: a map, a tree of JSON, an input of another operation, or null for none
   * @return the output, an object of JSON
   * @throws UsageException if no operation has such a name, or no object of JSON can be made of the input
   * @throws GatewayException if the call fails
   */
  public JsonNode call(String operation, Object input) {
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
   * @return the output
   * @throws UsageException if no operation has such a name, or no object of JSON can be made of the input
   * @throws GatewayException if the call fails
   */
  public <T> T call(String operation, Object input, Class<T> output, CallOptions options) {
    return callWithResponse(operation, input, output, options).data();
  }

  /**
   * Calls an operation by its name, as {@link #call(String, Object)} does, and also returns status, headers and more.
   *
   * @param <T> the type of the output
   * @param operation such as {@code game.getById}
   * @param input the parameters, or null for none
   * @param output the class of the output: one of Jackson's trees, of this library's models, or of your own
   * @param options what this call does otherwise, or null
   * @return the output, and what came along with it
   * @throws UsageException if no operation has such a name, or no object of JSON can be made of the input
   * @throws GatewayException if the call fails
   */
  public <T> ApiResponse<T> callWithResponse(String operation, Object input, Class<T> output, CallOptions options) {
    Operation<T> named = Operation.named(operation, output);
    return Futures.await(operation, () -> transport.async(named, input, options));
  }
}
