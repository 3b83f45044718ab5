package {{java.package}};

/**
 * A client of {{title}} whose calls return at once: {@code gateway.async().game().getById(input)}. The futures
 * fail with a {@link GatewayException}; cancelling one that a call returned cancels the call, also while it waits to try again.
 */
public final class Async{{client}} extends AsyncRouters {
  private final Transport transport;

  Async{{client}}(Transport transport) {
    super(transport);
    this.transport = transport;
  }

  @Override
  public String toString() {
    return "Async{{client}}[" + transport + "]";
  }
}
