package {{java.package}};

import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A page of a list.
 *
 * @param <T> the type of the records
 */
public interface Page<T> {
  /**
   * The records of this page.
   *
   * @return the records
   */
  List<T> getItems();

  /**
   * What the next page is known by.
   *
   * @return the cursor, null at the end
   */
  String getNextCursor();

  /**
   * Whether there is a page after this one.
   *
   * @return whether records follow
   */
  default boolean hasNextPage() {
    return getNextCursor() != null;
  }

  /**
   * Fetches the page after this one, with the same filters and options.
   *
   * @return the page
   * @throws java.util.NoSuchElementException if there is none
   */
  Page<T> nextPage();

  /**
   * Fetches the page after this one, with the same filters and options.
   *
   * @return what becomes the page; cancelling it cancels the call
   * @throws java.util.NoSuchElementException if there is none
   */
  CompletableFuture<? extends Page<T>> nextPageAsync();
}
