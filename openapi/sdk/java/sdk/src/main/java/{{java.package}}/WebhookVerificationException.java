// {{#events}}
package {{java.package}};

/** A message of a webhook cannot be trusted or read: answer it with 400. It holds neither the secret nor a signature. */
public final class WebhookVerificationException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What can be wrong with a message, in the order in which it is looked at. */
  public enum Fault {
    /** A header lacks. */
    HEADER,
    /** The time is no number of seconds. */
    TIMESTAMP,
    /** The message is too old: it may be a repeated one. */
    OLD,
    /** The time of the message is yet to come: one of the two clocks is wrong. */
    AHEAD,
    /** No signature is that of a secret. */
    SIGNATURE,
    /** The body is no message, although its signature is right. */
    BODY
  }

  /** What is wrong. */
  private final Fault fault;

  WebhookVerificationException(Fault fault, String message) {
    super("webhook: " + message);
    this.fault = fault;
  }

  /**
   * What is wrong with the message.
   *
   * @return the fault
   */
  public Fault fault() {
    return fault;
  }
}
// {{/events}}
