// {{#events}}
package {{java.package}};

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

/** Fetches the parts of a feed, one after another: by its stream, or page after page. */
final class Feed<T> {
  private static final Duration POLL_INTERVAL = Duration.ofSeconds(1);
  private static final Duration SILENCE = Duration.ofSeconds(30);
  /** How long to wait for the first message of a stream, where there are pages. */
  private static final Duration LONGEST_OPENING = Duration.ofSeconds(10);
  /** After how many pages a stream that could not be opened is tried again. */
  private static final int POLLS_BETWEEN = 30;

  private static final int NEVER = -1;

  private final String operation;
  private final Transport transport;
  private final Operation<StreamCall.Opened> tail;
  private final Class<T> type;
  private final CallOptions options;
  private final ObjectNode members;
  private final Duration pollInterval;
  private final Duration silence;
  /** Asks for a page; null to insist on the stream. */
  private final Function<ObjectNode, CompletableFuture<FeedPage<T>>> fetch;

  private volatile String cursor;
  private volatile EventStream stream;
  private Message first;
  /** How many pages are asked for before the stream is tried. */
  private int polls;

  private boolean pauses;

  /**
   * Prepares a feed.
   *
   * @param tail opens the stream
   * @param type that of the events
   * @param operation asks for a page; null for none
   * @param input the parameters, or null for none
   * @param options null for the client's
   * @param pageOf what a page is made of
   */
  <O> Feed(
      Transport transport,
      Operation<StreamCall.Opened> tail,
      Class<T> type,
      Operation<O> operation,
      Object input,
      CallOptions options,
      Function<O, FeedPage<T>> pageOf) {
    this.operation = operation == null ? tail.id() : operation.id();
    this.transport = transport;
    this.tail = tail;
    this.type = type;
    this.options = options == null ? new CallOptions() : options.copy();
    members = Json.membersOf(input);
    if (!members.hasNonNull("after") && !members.hasNonNull("start")) members.put("start", "latest");
    pollInterval = this.options.pollInterval == null ? POLL_INTERVAL : this.options.pollInterval;
    silence = this.options.silence == null ? SILENCE : this.options.silence;
    fetch =
        operation == null
            ? null
            : page -> Futures.map(transport.async(operation, page, this.options), reply -> pageOf.apply(reply.data()));
  }

  String operation() {
    return operation;
  }

  /** Where the parts end whose items have all been taken. */
  Optional<String> cursor() {
    return Optional.ofNullable(cursor);
  }

  /** The part that a walk begins with. */
  CompletableFuture<FeedPage<T>> first() {
    if (stream != null) return fromStream();
    if (polls == 0) return open();
    if (polls > 0) polls--;
    String after = members.path("after").textValue();
    return Futures.map(
        fetch.apply(members),
        page -> {
          // A cursor that leads to itself is not asked for without a pause.
          pauses = !page.hasMore() || page.nextCursor().equals(after);
          return page;
        });
  }

  /** The part after one whose items have all been taken. If that was the last page for now, it waits first. */
  CompletableFuture<FeedPage<T>> after(FeedPage<T> page) {
    goOnFrom(page.nextCursor());
    boolean waits = pauses;
    pauses = false;
    return waits ? firstAfter(pollInterval) : first();
  }

  /** Leaves the stream, if there is one. */
  void close() {
    EventStream open = stream;
    stream = null;
    if (open != null) open.close();
  }

  private void goOnFrom(String next) {
    if (next == null) return;
    members.remove("start");
    members.put("after", next);
    cursor = next;
  }

  private CompletableFuture<FeedPage<T>> firstAfter(Duration wait) {
    return Futures.compose(transport.clock().sleep(wait), nothing -> first(), transport.executor());
  }

  private CompletableFuture<FeedPage<T>> open() {
    CallOptions opening = transport.whole(options);
    if (fetch != null) {
      opening.maxRetries(0);
      if (opening.timeout.compareTo(LONGEST_OPENING) > 0) opening.timeout(LONGEST_OPENING);
    }
    ObjectNode input = members.deepCopy();
    input.remove("limit");
    return Futures.handle(
        new StreamCall(transport, tail, input, opening).start(),
        (reply, failure) -> {
          if (failure == null) {
            stream = reply.data().stream();
            first = reply.data().first();
            return first();
          }
          if (fetch == null || failure instanceof CancellationException) return CompletableFuture.failedFuture(failure);
          polls = hasStream(failure) ? POLLS_BETWEEN : NEVER;
          return first();
        },
        transport.executor());
  }

  /** Whether there may be a stream, although it could not be opened. */
  private static boolean hasStream(Throwable failure) {
    if (failure instanceof ApiException refusal) return refusal.status() != 404 && refusal.status() != 405;
    if (failure instanceof UnexpectedReplyException) return false;
    return !Causes.has(failure, TimeoutException.class) && !Causes.has(failure, EventStream.Ended.class);
  }

  private CompletableFuture<FeedPage<T>> fromStream() {
    EventStream open = stream;
    Message message = first;
    first = null;
    CompletableFuture<Message> next =
        message == null
            ? open.next().orTimeout(silence.toNanos(), TimeUnit.NANOSECONDS)
            : CompletableFuture.completedFuture(message);
    return Futures.handle(
        next,
        (came, failure) -> failure == null ? take(open, came) : afterBreak(open, failure),
        transport.executor());
  }

  private CompletableFuture<FeedPage<T>> afterBreak(EventStream open, Throwable failure) {
    close();
    if (failure instanceof CancellationException) return CompletableFuture.failedFuture(failure);
    Duration wait = open.retry().filter(told -> told.compareTo(Retries.TOO_LONG) < 0).orElseGet(() -> Retries.backoff(1));
    return firstAfter(wait);
  }

  private CompletableFuture<FeedPage<T>> take(EventStream open, Message message) {
    Attempt attempt = new Attempt(tail.id(), transport.origin(), transport.address(), transport.hasKey(), 1, null);
    if (message.isFailure()) {
      ApiException failure = StreamCall.failureOf(attempt, open, message);
      if (Retries.isWorthwhile(failure)) return afterBreak(open, failure);
      close();
      return CompletableFuture.failedFuture(failure);
    }
    if (!message.isEvent()) {
      goOnFrom(message.id());
      return first();
    }
    try {
      JsonNode json = Json.parse(message.data());
      T event = Json.read(json == null ? MissingNode.getInstance() : json.path("json"), type);
      return CompletableFuture.completedFuture(new FeedPage<>(List.of(event), message.id(), true));
    } catch (JsonProcessingException error) {
      close();
      Body body = new Body(message.data().getBytes(StandardCharsets.UTF_8), false);
      String fault = JsonFaults.of(error);
      return CompletableFuture.failedFuture(
          new UnexpectedReplyException(attempt, 200, open.headers(), body, fault, error));
    }
  }
}
// {{/events}}
