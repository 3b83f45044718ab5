package {{java.package}};

import java.util.Collections;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * All records of a list, as they come. A page is fetched when its first record is requested; each subscription begins
 * anew, and its cancelling cancels the call under way. An error comes after the records that came before it.
 *
 * @param <T> the type of the records
 */
public final class AsyncRecords<T> implements Flow.Publisher<T> {
  private final Supplier<? extends CompletableFuture<? extends Page<T>>> first;

  AsyncRecords(Supplier<? extends CompletableFuture<? extends Page<T>>> first) {
    this.first = first;
  }

  @Override
  public void subscribe(Flow.Subscriber<? super T> subscriber) {
    subscriber.onSubscribe(new Walk(subscriber));
  }

  /**
   * Does something with each record, one after another.
   *
   * @param action what to do
   * @return what is completed after the last record, or fails with a {@link GatewayException} or with what the action threw;
   *     cancelling it ends the walk
   */
  public CompletableFuture<Void> forEach(Consumer<? super T> action) {
    CompletableFuture<Void> end = new CompletableFuture<>();
    subscribe(
        new Flow.Subscriber<T>() {
          @Override
          public void onSubscribe(Flow.Subscription subscription) {
            end.whenComplete((nothing, failure) -> subscription.cancel());
            subscription.request(Long.MAX_VALUE);
          }

          @Override
          public void onNext(T item) {
            try {
              action.accept(item);
            } catch (RuntimeException | Error failure) {
              end.completeExceptionally(failure);
            }
          }

          @Override
          public void onError(Throwable failure) {
            end.completeExceptionally(failure);
          }

          @Override
          public void onComplete() {
            end.complete(null);
          }
        });
    return end;
  }

  /** What one subscriber has got so far. Whoever raises {@code turns} from zero works, the others leave it to them. */
  private final class Walk implements Flow.Subscription {
    private final Flow.Subscriber<? super T> subscriber;
    private final AtomicLong requested = new AtomicLong();
    private final AtomicInteger turns = new AtomicInteger();
    private volatile boolean ended;
    private volatile CompletableFuture<? extends Page<T>> fetching;
    private volatile Throwable failure;
    private Page<T> page;
    private Iterator<T> items = Collections.emptyIterator();

    Walk(Flow.Subscriber<? super T> subscriber) {
      this.subscriber = subscriber;
    }

    @Override
    public void request(long count) {
      if (count <= 0) failure = new IllegalArgumentException("A subscriber must request at least one record.");
      else requested.accumulateAndGet(count, (a, b) -> a + b < 0 ? Long.MAX_VALUE : a + b);
      work();
    }

    @Override
    public void cancel() {
      ended = true;
      CompletableFuture<? extends Page<T>> call = fetching;
      if (call != null) call.cancel(true);
    }

    private void work() {
      if (turns.getAndIncrement() != 0) return;
      int done = 1;
      do {
        while (!ended && step()) {}
        done = turns.addAndGet(-done);
      } while (done != 0);
    }

    /** Does the next thing. Returns whether there may be another to do at once. */
    private boolean step() {
      if (failure != null) {
        ended = true;
        subscriber.onError(failure);
      } else if (fetching != null && fetching.isDone()) {
        takePage();
        return true;
      } else if (fetching != null) {
        return false;
      } else if (!items.hasNext() && page != null && !page.hasNextPage()) {
        ended = true;
        subscriber.onComplete();
      } else if (requested.get() > 0 && items.hasNext()) {
        if (requested.get() != Long.MAX_VALUE) requested.decrementAndGet();
        subscriber.onNext(items.next());
        return true;
      } else if (requested.get() > 0) {
        fetching = page == null ? first.get() : page.nextPageAsync();
        fetching.whenComplete((next, error) -> work());
        if (ended) fetching.cancel(true);
      }
      return false;
    }

    private void takePage() {
      try {
        page = fetching.join();
        items = page.getItems().iterator();
      } catch (RuntimeException error) {
        failure = Futures.causeOf(error);
      }
      fetching = null;
    }
  }
}
