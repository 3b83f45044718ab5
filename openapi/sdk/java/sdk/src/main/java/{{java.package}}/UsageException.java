package {{java.package}};

/** An option, an argument or a variable of the environment makes no sense. It shows no value that may be secret. */
public final class UsageException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  UsageException(String message) {
    super(message);
  }

  UsageException(String message, Throwable cause) {
    super(message, cause);
  }
}
