package {{java.package}};

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/** Collects the body of a reply, unless it is longer than any of a gateway's. */
final class LimitedBody implements HttpResponse.BodySubscriber<byte[]> {
  private static final int LIMIT_MIB = 64;

  private final HttpResponse.BodySubscriber<byte[]> whole = HttpResponse.BodySubscribers.ofByteArray();
  private Flow.Subscription subscription;
  private long left = LIMIT_MIB * 1024L * 1024L;

  @Override
  public CompletionStage<byte[]> getBody() {
    return whole.getBody();
  }

  @Override
  public void onSubscribe(Flow.Subscription given) {
    subscription = given;
    whole.onSubscribe(given);
  }

  @Override
  public void onNext(List<ByteBuffer> buffers) {
    if (left < 0) return;
    for (ByteBuffer buffer : buffers) left -= buffer.remaining();
    if (left >= 0) {
      whole.onNext(buffers);
      return;
    }
    subscription.cancel();
    whole.onError(new IOException("the reply is longer than " + LIMIT_MIB + " MiB"));
  }

  @Override
  public void onError(Throwable failure) {
    whole.onError(failure);
  }

  @Override
  public void onComplete() {
    if (left >= 0) whole.onComplete();
  }
}
