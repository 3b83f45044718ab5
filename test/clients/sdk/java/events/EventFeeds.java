import com.example.contentgateway.AsyncContentGateway;
import com.example.contentgateway.CallOptions;
import com.example.contentgateway.ContentGateway;
import com.example.contentgateway.model.Event;
import com.example.contentgateway.model.EventListInput;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.concurrent.CompletableFuture;

/** Goes through feeds. */
final class EventFeeds implements Feeds {
  @Override
  public void take(ContentGateway gateway, String form, JsonNode input, CallOptions options, int take, ArrayNode ids)
      throws Exception {
    EventListInput from = inputIn(input);
    try (var events = form.equals("tail") ? gateway.event().tail(from, options) : gateway.event().follow(from, options)) {
      for (Event event : events) {
        ids.add(event.getId());
        if (ids.size() == take) return;
      }
    }
  }

  @Override
  public CompletableFuture<Void> take(
      AsyncContentGateway gateway, String form, JsonNode input, CallOptions options, int take, ArrayNode ids)
      throws Exception {
    EventListInput from = inputIn(input);
    var events = form.equals("tail") ? gateway.event().tail(from, options) : gateway.event().follow(from, options);
    var end = new CompletableFuture<Void>();
    var walk =
        events.forEach(
            event -> {
              ids.add(event.getId());
              if (ids.size() == take) end.complete(null);
              if (end.isDone()) throw new IllegalStateException("enough");
            });
    walk.whenComplete(
        (nothing, failure) -> {
          if (failure != null) end.completeExceptionally(failure);
        });
    end.whenComplete((nothing, failure) -> walk.cancel(true));
    return end;
  }

  private static EventListInput inputIn(JsonNode input) throws Exception {
    return input.isObject() ? Vectors.JSON.treeToValue(input, EventListInput.class) : new EventListInput();
  }
}
