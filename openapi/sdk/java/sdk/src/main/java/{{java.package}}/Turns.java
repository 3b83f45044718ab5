package {{java.package}};

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;

/** As many turns as attempts can be made at once. Who comes first gets one first. */
final class Turns {
  static final int USUAL = 100;

  private final Queue<CompletableFuture<Void>> waiting = new ArrayDeque<>();
  private int left;

  Turns(int count) {
    left = count;
  }

  /** Takes a turn. What it returns is completed once there is one; who doesn't want it any more cancels it. */
  synchronized CompletableFuture<Void> take() {
    CompletableFuture<Void> turn = new CompletableFuture<>();
    if (left > 0) {
      left--;
      turn.complete(null);
    } else {
      waiting.add(turn);
    }
    return turn;
  }

  /** Gives a turn back, to be taken by the next that waits. */
  void giveBack() {
    CompletableFuture<Void> next;
    do {
      synchronized (this) {
        next = waiting.poll();
        if (next == null) left++;
      }
      // One that was cancelled leaves it to the next.
    } while (next != null && !next.complete(null));
  }
}
