import com.example.contentgateway.GatewayClock;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;

/** Notes waits, which end at once; with a vector that cancels while it waits, they never end. */
final class FakeClock implements GatewayClock {
  private final ArrayNode waits;
  private final CompletableFuture<Runnable> canceller;
  private final boolean cancels;
  private Duration ahead;

  FakeClock(long offsetSeconds, ArrayNode waits, CompletableFuture<Runnable> canceller, JsonNode call) {
    this.waits = waits;
    this.canceller = canceller;
    cancels = call.path("cancel").asText().equals("during-wait");
    ahead = Duration.ofSeconds(offsetSeconds);
  }

  @Override
  public Instant now() {
    return Instant.now().plus(ahead);
  }

  @Override
  public CompletableFuture<Void> sleep(Duration wait) {
    waits.add(wait.toNanos() / 1e9);
    ahead = ahead.plus(wait);
    if (!cancels) return CompletableFuture.completedFuture(null);
    canceller.thenAcceptAsync(Runnable::run);
    return new CompletableFuture<>();
  }
}
