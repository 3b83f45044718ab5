package {{java.package}};

/** The thread was interrupted during a call. It stays so: its interrupt flag is set. A write may have been done or not. */
public final class CallCancelledException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  CallCancelledException(String operation, InterruptedException cause) {
    super(operation + ": the thread was interrupted", cause);
  }
}
