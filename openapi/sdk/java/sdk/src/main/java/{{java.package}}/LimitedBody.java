package {{java.package}};

import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/**
 * Collects the body of a reply. Of a page, which is no JSON, it keeps the beginning alone, and likewise of a body that is longer
 * than any of a gateway's, of which it reads no more.
 */
final class LimitedBody implements HttpResponse.BodySubscriber<Body> {
  static final int LIMIT_MIB = 64;
  static final int LIMIT_BYTES = LIMIT_MIB * 1024 * 1024;

  private final CompletableFuture<Body> body = new CompletableFuture<>();
  private final ByteBuffer beginning = ByteBuffer.allocate(Body.BYTES_SHOWN);
  /** Null once the beginning is enough. */
  private HttpResponse.BodySubscriber<byte[]> whole = HttpResponse.BodySubscribers.ofByteArray();
  private Flow.Subscription subscription;
  private long left = LIMIT_BYTES;

  @Override
  public CompletionStage<Body> getBody() {
    return body;
  }

  @Override
  public void onSubscribe(Flow.Subscription given) {
    subscription = given;
    whole.onSubscribe(given);
  }

  @Override
  public void onNext(List<ByteBuffer> buffers) {
    if (left < 0) return;
    for (ByteBuffer buffer : buffers) {
      int kept = Math.min(beginning.remaining(), buffer.remaining());
      beginning.put(buffer.slice().limit(kept));
      left -= buffer.remaining();
    }
    if (left < 0) {
      subscription.cancel();
      whole = null;
      body.complete(new Body(begun(), true));
      return;
    }
    if (whole != null && Body.isMarkup(begun())) whole = null;
    if (whole != null) whole.onNext(buffers);
  }

  private byte[] begun() {
    return Arrays.copyOf(beginning.array(), beginning.position());
  }

  @Override
  public void onError(Throwable failure) {
    body.completeExceptionally(failure);
  }

  @Override
  public void onComplete() {
    if (left < 0) return;
    if (whole == null) {
      body.complete(new Body(begun(), false));
      return;
    }
    whole.onComplete();
    whole.getBody().thenAccept(bytes -> body.complete(new Body(bytes, false)));
  }
}
