// {{#events}}
package {{java.package}};

import java.util.List;

/**
 * A part of a feed: a page, or what came by a stream.
 *
 * @param items its events
 * @param nextCursor where it ends, or null
 * @param hasMore whether there are more already
 */
record FeedPage<T>(List<T> items, String nextCursor, boolean hasMore) {}
// {{/events}}
