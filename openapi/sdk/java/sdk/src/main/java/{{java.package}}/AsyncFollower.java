// {{#events}}
package {{java.package}};

import java.util.Optional;

/**
 * The events of a feed without end, the oldest first, as they come. A page is fetched when its first event is requested. When
 * there are no more events for now, it waits for them. Cancelling the subscription ends it, and cancels the
 * call under way. An error, such as one with the reason {@code EVENTS_GONE}, comes after the events that came before it.
 *
 * <p>It takes one subscriber at a time. Another one goes on where the pages end that were taken as a whole.
 *
 * @param <T> the type of the events
 */
public final class AsyncFollower<T> extends PagedPublisher<FeedPage<T>, T> {
  private final Feed<T> feed;

  AsyncFollower(Feed<T> feed) {
    super(feed::first, feed::after, page -> true, page -> page.items().iterator(), Long.MAX_VALUE, feed::close);
    this.feed = feed;
  }

  /**
   * From where to go on after a restart, as {@code after} of the input. Events of the page that was not taken as a whole come
   * again then: each comes at least once.
   *
   * @return the cursor behind the last page whose events have all been taken, which the subscriber shows by requesting another
   *     one; absent before there is such a page
   */
  public Optional<String> cursor() {
    return feed.cursor();
  }
}
// {{/events}}
