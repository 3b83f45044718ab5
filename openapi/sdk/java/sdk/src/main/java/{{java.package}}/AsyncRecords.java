package {{java.package}};

import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * All records of a list, as they come. A page is fetched when its first record is requested; each subscription begins
 * anew, and its cancelling cancels the call under way. An error comes after the records that came before it.
 *
 * @param <T> the type of the records
 */
public final class AsyncRecords<T> extends PagedPublisher<Page<T>, T> {
  AsyncRecords(Supplier<? extends CompletableFuture<? extends Page<T>>> first, long most) {
    super(first, Page::nextPageAsync, Page::hasNextPage, page -> page.getItems().iterator(), most, () -> {});
  }
}
