package {{java.package}};

/** Looks into chains of causes. */
final class Causes {
  private Causes() {}

  static boolean has(Throwable error, Class<? extends Throwable> type) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (type.isInstance(cause)) return true;
    }
    return false;
  }
}
