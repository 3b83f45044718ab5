package {{java.package}};

import java.util.Optional;

/** A call that failed: the base of all errors but {@link CallCancelledException} and {@link UsageException}. */
public abstract class GatewayException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What was called. */
  private final String operation;
  /** How often it was tried. */
  private final int attempts;
  /** The key of a write, or null. */
  private final String idempotencyKey;

  GatewayException(Attempt attempt, String message, Throwable cause) {
    super(message, cause);
    operation = attempt.operation();
    attempts = attempt.number();
    idempotencyKey = attempt.idempotencyKey();
  }

  /**
   * What was called.
   *
   * @return the operation, such as {@code game.create}
   */
  public String operation() {
    return operation;
  }

  /**
   * How often it was tried.
   *
   * @return 1 or more
   */
  public int attempts() {
    return attempts;
  }

  /**
   * What every attempt of a write was known by: with it, the call can be repeated without being done twice.
   *
   * @return the key, absent on reads
   */
  public Optional<String> idempotencyKey() {
    return Optional.ofNullable(idempotencyKey);
  }
}
