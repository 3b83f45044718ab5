package {{java.package}};

/**
 * A client of the content gateway whose calls return at once: {@code gateway.async().game().getById(input)}. The futures
 * fail with a {@link GatewayException}; cancelling one that a call returned cancels the call, also while it waits to try again.
 */
public final class AsyncContentGateway extends AsyncRouters {
  private final Transport transport;

  AsyncContentGateway(Transport transport) {
    super(transport);
    this.transport = transport;
  }

  @Override
  public String toString() {
    return "AsyncContentGateway[" + transport + "]";
  }
}
