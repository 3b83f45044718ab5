// {{#events}}
package {{java.package}};

import java.io.EOFException;
import java.io.IOException;
import java.net.http.HttpHeaders;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;

/** Reads a stream of Server-Sent Events (HTML, section 9.2), as many lines as are needed for the message that is asked for. */
final class EventStream implements Flow.Subscriber<String> {
  private static final String BYTE_ORDER_MARK = "\uFEFF";

  private final CompletableFuture<Flow.Subscription> subscribed = new CompletableFuture<>();
  private final StringBuilder data = new StringBuilder();
  private boolean hasData;
  private String event = "";
  private String id;
  private String lastId;
  private int left;
  private volatile Duration retry;
  private volatile HttpHeaders headers;
  private CompletableFuture<Message> asked;
  private Throwable end;

  /** Of the reply that it is in. */
  HttpHeaders headers() {
    return headers;
  }

  EventStream of(HttpHeaders given) {
    headers = given;
    return this;
  }

  /** How long the service wants the client to stay away after a break, if it says. */
  Optional<Duration> retry() {
    return Optional.ofNullable(retry);
  }

  /** The next message. It fails at the end of the stream. */
  CompletableFuture<Message> next() {
    CompletableFuture<Message> message = new CompletableFuture<>();
    synchronized (this) {
      if (end != null) return CompletableFuture.failedFuture(end);
      asked = message;
      left = LimitedBody.LIMIT_BYTES;
    }
    subscribed.thenAccept(subscription -> subscription.request(1));
    return message;
  }

  /** Leaves the stream. */
  void close() {
    subscribed.thenAccept(Flow.Subscription::cancel);
    finish(new EOFException("the stream is closed"));
  }

  @Override
  public void onSubscribe(Flow.Subscription subscription) {
    subscribed.complete(subscription);
  }

  @Override
  public void onNext(String line) {
    Message message = read(line.startsWith(BYTE_ORDER_MARK) ? line.substring(1) : line);
    if (message == null) {
      left -= line.length();
      if (left < 0) {
        close();
        return;
      }
      subscribed.join().request(1);
      return;
    }
    CompletableFuture<Message> waiting;
    synchronized (this) {
      waiting = asked;
      asked = null;
    }
    if (waiting != null) waiting.complete(message);
  }

  @Override
  public void onError(Throwable failure) {
    finish(failure);
  }

  @Override
  public void onComplete() {
    finish(new EOFException("the stream ended"));
  }

  private void finish(Throwable failure) {
    CompletableFuture<Message> waiting;
    synchronized (this) {
      if (end == null) end = failure;
      waiting = asked;
      asked = null;
    }
    if (waiting != null) waiting.completeExceptionally(failure);
  }

  /** Reads a line. Returns the message that it ends, or null. */
  private Message read(String line) {
    if (line.isEmpty()) return dispatch();
    int colon = line.indexOf(':');
    String name = colon < 0 ? line : line.substring(0, colon);
    String value = colon < 0 ? "" : line.substring(colon + 1);
    if (value.startsWith(" ")) value = value.substring(1);
    switch (name) {
      case "event" -> event = value;
      case "data" -> {
        if (hasData) data.append('\n');
        data.append(value);
        hasData = true;
      }
      case "id" -> {
        if (!value.isEmpty() && value.indexOf('\0') < 0) id = value;
      }
      case "retry" -> {
        if (value.matches("\\d{1,9}")) retry = Duration.ofMillis(Long.parseLong(value));
      }
      default -> {
        // A comment, or newer than this.
      }
    }
    return null;
  }

  private Message dispatch() {
    lastId = id;
    Message message = hasData ? new Message(event, data.toString(), lastId) : null;
    event = "";
    data.setLength(0);
    hasData = false;
    return message;
  }

  /** A stream that ended before anything came. */
  static final class Ended extends IOException {
    private static final long serialVersionUID = 1L;

    Ended(Throwable cause) {
      super("the stream ended before its first message", cause);
    }
  }
}
// {{/events}}
