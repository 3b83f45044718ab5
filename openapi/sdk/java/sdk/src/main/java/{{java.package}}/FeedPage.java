// {{#events}}
package {{java.package}};

import java.util.List;

/** A page of a feed. */
record FeedPage<T>(List<T> items, String nextCursor, boolean hasMore) {}
// {{/events}}
