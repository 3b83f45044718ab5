// {{#events}}
package {{java.package}};

import java.util.Collections;
import java.util.Iterator;
import java.util.Optional;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * The events of a feed without end, the oldest first. A page is fetched when its first event is asked for. When there are no
 * more events for now, the thread waits for them. Break off and close it to end it, or interrupt the thread.
 *
 * <p>One thread at a time can go through it. Iterated again, also after an error, it goes on where it was.
 *
 * @param <T> the type of the events
 */
public final class Follower<T> implements Iterable<T>, AutoCloseable {
  private final Feed<T> feed;
  private final Walk walk = new Walk();

  Follower(Feed<T> feed) {
    this.feed = feed;
  }

  /**
   * The events, one after another.
   *
   * @return the iterator, always the same one and without end, which throws a {@link GatewayException} after the events that
   *     came before it, such as one with the reason {@code EVENTS_GONE}, or a {@link CallCancelledException} if the thread is
   *     interrupted
   */
  @Override
  public Iterator<T> iterator() {
    return walk;
  }

  /**
   * The events, one after another.
   *
   * @return a sequential stream without end, which throws what the iterator does, and whose closing closes this
   */
  public Stream<T> stream() {
    return StreamSupport.stream(spliterator(), false).onClose(this::close);
  }

  /**
   * From where to go on after a restart, as {@code after} of the input. Events of the page that was not taken as a whole come
   * again then: each comes at least once.
   *
   * @return the cursor behind the last page whose events have all been taken, which the caller shows by asking for the next one;
   *     absent before there is such a page
   */
  public Optional<String> cursor() {
    return feed.cursor();
  }

  /** Leaves the connection by which events come. Iterated again, it goes on where it was. */
  @Override
  public void close() {
    feed.close();
  }

  private final class Walk implements Iterator<T> {
    private FeedPage<T> page;
    private Iterator<T> items = Collections.emptyIterator();

    @Override
    public boolean hasNext() {
      while (!items.hasNext()) {
        FeedPage<T> taken = page;
        page = null;
        page = Futures.await(feed.operation(), () -> taken == null ? feed.first() : feed.after(taken));
        items = page.items().iterator();
      }
      return true;
    }

    @Override
    public T next() {
      hasNext();
      return items.next();
    }
  }
}
// {{/events}}
