import com.example.contentgateway.ContentGateway;
import com.example.contentgateway.model.Event;
import com.example.contentgateway.model.EventInclusion;
import com.example.contentgateway.model.EventListInput;
import com.example.contentgateway.model.EventStart;
import com.example.contentgateway.model.EventType;
import com.example.contentgateway.model.GameInput;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;

/** Prints the events of games that it creates itself. */
final class Follow {
  private static final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
  private static final int LAST = 4;

  private final ContentGateway gateway = new ContentGateway();
  private int count;

  public static void main(String[] args) {
    new Follow().run(args[0].equals("async"));
  }

  private void run(boolean async) {
    var now = gateway.event().list(new EventListInput().start(EventStart.LATEST));
    for (int number = 1; number < LAST; number++) create(number);
    var input = new EventListInput().after(now.getNextCursor()).types(List.of(EventType.GAME_CREATED));
    input.include(EventInclusion.RECORD);
    Optional<String> cursor = async ? publish(input) : iterate(input);
    out.println("cursor: " + (cursor.isPresent() ? "there" : "none"));
  }

  private void create(int number) {
    gateway.game().create(new GameInput().title("follow " + number));
  }

  /** Prints an event. Returns whether more are to come. */
  private boolean take(Event event) {
    out.println(event.getType() + " " + event.getGame().getTitle());
    count++;
    if (count == LAST - 1) create(LAST);
    return count < LAST;
  }

  private Optional<String> iterate(EventListInput input) {
    var follower = gateway.event().follow(input);
    for (Event event : follower) {
      if (!take(event)) break;
    }
    return follower.cursor();
  }

  private Optional<String> publish(EventListInput input) {
    var follower = gateway.async().event().follow(input);
    var end = new CompletableFuture<Void>();
    follower.subscribe(
        new Flow.Subscriber<>() {
          private Flow.Subscription subscription;

          @Override
          public void onSubscribe(Flow.Subscription given) {
            subscription = given;
            subscription.request(1);
          }

          @Override
          public void onNext(Event event) {
            if (take(event)) {
              subscription.request(1);
            } else {
              subscription.cancel();
              end.complete(null);
            }
          }

          @Override
          public void onError(Throwable failure) {
            end.completeExceptionally(failure);
          }

          @Override
          public void onComplete() {
            end.completeExceptionally(new AssertionError("The feed ended."));
          }
        });
    end.join();
    return follower.cursor();
  }
}
