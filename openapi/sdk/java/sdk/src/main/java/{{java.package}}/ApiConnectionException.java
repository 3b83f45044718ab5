package {{java.package}};

/** No reply came, or not the whole of it. Its cause says why. A write may have been done or not. */
public class ApiConnectionException extends GatewayException {
  private static final long serialVersionUID = 1L;

  ApiConnectionException(Attempt attempt, Throwable cause) {
    this(attempt, "no reply from %s after %s: %s".formatted(attempt.origin(), attempt.count(), Texts.cause(cause)), cause);
  }

  ApiConnectionException(Attempt attempt, String text, Throwable cause) {
    super(attempt, attempt.operation() + ": " + text, cause);
  }
}
