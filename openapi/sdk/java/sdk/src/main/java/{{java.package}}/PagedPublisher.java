package {{java.package}};

import java.util.Collections;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Publishes what is in the pages of a list or a feed.
 *
 * @param <P> the type of the pages
 * @param <T> the type of what is published
 */
abstract class PagedPublisher<P, T> implements Flow.Publisher<T> {
  private final Supplier<? extends CompletableFuture<? extends P>> first;
  private final Function<? super P, ? extends CompletableFuture<? extends P>> next;
  private final Predicate<? super P> hasNext;
  private final Function<P, Iterator<T>> contents;
  private final long most;
  private final Runnable atEnd;

  /**
   * @param first fetches the first page
   * @param next fetches the page after one
   * @param hasNext whether there is a page after one
   * @param contents what is published of a page
   * @param most after how much the publisher ends
   * @param atEnd done when nobody wants more
   */
  PagedPublisher(
      Supplier<? extends CompletableFuture<? extends P>> first,
      Function<? super P, ? extends CompletableFuture<? extends P>> next,
      Predicate<? super P> hasNext,
      Function<P, Iterator<T>> contents,
      long most,
      Runnable atEnd) {
    this.first = first;
    this.next = next;
    this.hasNext = hasNext;
    this.contents = contents;
    this.most = most;
    this.atEnd = atEnd;
  }

  @Override
  public void subscribe(Flow.Subscriber<? super T> subscriber) {
    subscriber.onSubscribe(new Walk(subscriber));
  }

  /**
   * Does something with each, one after another.
   *
   * @param action what to do
   * @return what is completed after the last, or fails with a {@link GatewayException} or with what the action threw;
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

  /** What one subscriber has got so far. The thread that raises {@code turns} from zero works; others leave it to that. */
  private final class Walk implements Flow.Subscription {
    private final Flow.Subscriber<? super T> subscriber;
    private final AtomicLong requested = new AtomicLong();
    private final AtomicInteger turns = new AtomicInteger();
    private volatile boolean ended;
    private volatile CompletableFuture<? extends P> fetching;
    private volatile Throwable failure;
    private P page;
    private long left = most;
    private Iterator<T> items = Collections.emptyIterator();

    Walk(Flow.Subscriber<? super T> subscriber) {
      this.subscriber = subscriber;
    }

    @Override
    public void request(long count) {
      if (count <= 0) failure = new UsageException("A subscriber must request at least one.");
      else requested.accumulateAndGet(count, (a, b) -> a + b < 0 ? Long.MAX_VALUE : a + b);
      work();
    }

    @Override
    public void cancel() {
      ended = true;
      CompletableFuture<? extends P> call = fetching;
      if (call != null) call.cancel(true);
      atEnd.run();
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
        atEnd.run();
        subscriber.onError(failure);
      } else if (fetching != null && fetching.isDone()) {
        takePage();
        return true;
      } else if (fetching != null) {
        return false;
      } else if (left == 0 || !items.hasNext() && page != null && !hasNext.test(page)) {
        ended = true;
        subscriber.onComplete();
      } else if (requested.get() > 0 && items.hasNext()) {
        if (requested.get() != Long.MAX_VALUE) requested.decrementAndGet();
        left--;
        subscriber.onNext(items.next());
        return true;
      } else if (requested.get() > 0) {
        fetching = page == null ? first.get() : next.apply(page);
        fetching.whenComplete((fetched, error) -> work());
        if (ended) fetching.cancel(true);
      }
      return false;
    }

    private void takePage() {
      try {
        page = fetching.join();
        items = contents.apply(page);
      } catch (RuntimeException error) {
        failure = Futures.causeOf(error);
      }
      fetching = null;
    }
  }
}
