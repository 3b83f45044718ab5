// {{#events}}
package {{java.package}};

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** Fetches the pages of a feed, one after another. */
final class Feed<T> {
  private static final Duration POLL_INTERVAL = Duration.ofSeconds(1);

  private final String operation;
  private final Transport transport;
  private final Function<ObjectNode, CompletableFuture<FeedPage<T>>> fetch;
  private final ObjectNode members;
  private final Duration pollInterval;
  private volatile String cursor;

  /**
   * @param input the parameters, or null for none
   * @param options null for the client's
   * @param pageOf what a page is made of
   */
  <O> Feed(
      Transport transport,
      Operation<O> operation,
      Object input,
      CallOptions options,
      Function<O, FeedPage<T>> pageOf) {
    CallOptions same = options == null ? new CallOptions() : options.copy();
    this.operation = operation.id();
    this.transport = transport;
    fetch =
        members ->
            Futures.map(transport.async(operation, members, same), response -> pageOf.apply(response.data()));
    members = Json.membersOf(input);
    if (!members.hasNonNull("after") && !members.hasNonNull("start")) members.put("start", "latest");
    pollInterval = same.pollInterval == null ? POLL_INTERVAL : same.pollInterval;
  }

  String operation() {
    return operation;
  }

  /** Where the pages end whose items have all been taken. */
  Optional<String> cursor() {
    return Optional.ofNullable(cursor);
  }

  /** The page that a walk begins with. */
  CompletableFuture<FeedPage<T>> first() {
    return fetch.apply(members);
  }

  /** The page after one whose items have all been taken. If that was the last for now, it waits first. */
  CompletableFuture<FeedPage<T>> after(FeedPage<T> page) {
    // A cursor that leads to itself is not asked for without a pause.
    boolean isThere = page.hasMore() && !page.nextCursor().equals(members.path("after").textValue());
    members.remove("start");
    members.put("after", page.nextCursor());
    cursor = page.nextCursor();
    if (isThere) return first();
    return Futures.compose(transport.clock().sleep(pollInterval), nothing -> first(), transport.executor());
  }
}
// {{/events}}
