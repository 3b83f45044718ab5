package {{java.package}};

import java.util.function.Consumer;

/** What is told of attempts: the caller's hook, and the log. */
final class AttemptHooks {
  private final Consumer<? super AttemptEvent> hook;
  private final boolean logs;

  /** @param hook null for none */
  AttemptHooks(Consumer<? super AttemptEvent> hook, boolean logs) {
    this.hook = hook;
    this.logs = logs;
  }

  /** Tells of an attempt. What a hook throws is ignored. */
  void tell(AttemptEvent event) {
    if (logs) System.err.println("{{product}}: " + event);
    if (hook == null) return;
    try {
      hook.accept(event);
    } catch (Throwable ignored) {
      // A hook must not break a call.
    }
  }
}
