// {{#events}}
package {{java.package}};

import java.net.http.HttpHeaders;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/** The body of a reply that may be a stream of events: of such a one it is there at once, of another when it is whole. */
final class StreamReply implements HttpResponse.BodySubscriber<Body> {
  private static final String MEDIA_TYPE = "text/event-stream";

  private final EventStream stream;
  private final HttpResponse.BodySubscriber<?> lines;
  private final LimitedBody whole = new LimitedBody();

  /** @param stream what gets the lines, if it is a stream */
  StreamReply(EventStream stream, HttpResponse.ResponseInfo reply) {
    boolean isStream = isStream(reply.statusCode(), reply.headers());
    this.stream = isStream ? stream.of(reply.headers()) : null;
    lines =
        isStream
            ? HttpResponse.BodySubscribers.fromLineSubscriber(stream, end -> null, StandardCharsets.UTF_8, null)
            : whole;
  }

  static boolean isStream(int status, HttpHeaders headers) {
    return status == 200 && Texts.mediaType(headers).filter(MEDIA_TYPE::equals).isPresent();
  }

  @Override
  public CompletionStage<Body> getBody() {
    return stream == null ? whole.getBody() : CompletableFuture.completedFuture(Body.EMPTY);
  }

  @Override
  public void onSubscribe(Flow.Subscription subscription) {
    lines.onSubscribe(subscription);
  }

  @Override
  public void onNext(List<ByteBuffer> buffers) {
    lines.onNext(buffers);
  }

  @Override
  public void onError(Throwable failure) {
    lines.onError(failure);
  }

  @Override
  public void onComplete() {
    lines.onComplete();
  }
}
// {{/events}}
