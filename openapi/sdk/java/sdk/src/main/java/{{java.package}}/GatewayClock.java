package {{java.package}};

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** What a client knows of time, apart from its timeouts. For tests: one of your own makes waits end at once. */
public interface GatewayClock {
  /** The system's clock. */
  GatewayClock SYSTEM =
      new GatewayClock() {
        @Override
        public Instant now() {
          return Instant.now();
        }

        @Override
        public CompletableFuture<Void> sleep(Duration wait) {
          return new CompletableFuture<Void>().completeOnTimeout(null, wait.toNanos(), TimeUnit.NANOSECONDS);
        }
      };

  /**
   * The time, from which the distance of a date in {@code Retry-After} is measured, and the age of a webhook's message.
   *
   * @return now
   */
  Instant now();

  /**
   * Waits before another attempt, or before a feed is asked again.
   *
   * @param wait how long, zero or more
   * @return what is completed when the time is over; it is cancelled when the call is
   */
  CompletableFuture<Void> sleep(Duration wait);
}
