package {{java.package}};

import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/** Collects the body of a reply. Of one that is longer than any of a gateway's, it keeps the beginning, and reads no further. */
final class LimitedBody implements HttpResponse.BodySubscriber<Body> {
  static final int LIMIT_MIB = 64;

  private final CompletableFuture<Body> body = new CompletableFuture<>();
  private final ByteBuffer beginning = ByteBuffer.allocate(Body.BYTES_SHOWN);
  private HttpResponse.BodySubscriber<byte[]> whole = HttpResponse.BodySubscribers.ofByteArray();
  private Flow.Subscription subscription;
  private long left = LIMIT_MIB * 1024L * 1024L;

  @Override
  public CompletionStage<Body> getBody() {
    return body;
  }

  @Override
  public void onSubscribe(Flow.Subscription given) {
    subscription = given;
    whole
        .getBody()
        .whenComplete(
            (bytes, failure) -> {
              if (failure == null) body.complete(new Body(bytes, false));
              else body.completeExceptionally(failure);
            });
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
    if (left >= 0) {
      whole.onNext(buffers);
      return;
    }
    subscription.cancel();
    whole = null;
    body.complete(new Body(beginning.array(), true));
  }

  @Override
  public void onError(Throwable failure) {
    if (left >= 0) whole.onError(failure);
  }

  @Override
  public void onComplete() {
    if (left >= 0) whole.onComplete();
  }
}
