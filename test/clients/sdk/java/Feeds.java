import com.example.contentgateway.AsyncContentGateway;
import com.example.contentgateway.CallOptions;
import com.example.contentgateway.ContentGateway;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.concurrent.CompletableFuture;

/** Goes through feeds, which an SDK of a document without events cannot. */
interface Feeds {
  /** Events by {@code tail} or {@code follow}, at most so many. */
  void take(ContentGateway gateway, String form, JsonNode input, CallOptions options, int take, ArrayNode ids)
      throws Exception;

  /** The same, without waiting. */
  CompletableFuture<Void> take(
      AsyncContentGateway gateway, String form, JsonNode input, CallOptions options, int take, ArrayNode ids)
      throws Exception;

  /** What can, where there is a feed. */
  static Feeds known() throws Exception {
    return (Feeds) Class.forName("EventFeeds").getDeclaredConstructor().newInstance();
  }
}
