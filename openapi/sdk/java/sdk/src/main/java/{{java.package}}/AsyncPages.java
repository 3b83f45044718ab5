package {{java.package}};

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * All pages of a list, as they come. A page is fetched when it is requested; each subscription begins anew, and its
 * cancelling cancels the call under way. An error comes after the pages that came before it.
 *
 * @param <P> the type of the pages
 */
public final class AsyncPages<P extends Page<?>> extends PagedPublisher<P, P> {
  AsyncPages(Supplier<CompletableFuture<P>> first, Function<P, CompletableFuture<P>> next) {
    super(first, next, Page::hasNextPage, page -> List.of(page).iterator(), Long.MAX_VALUE, () -> {});
  }
}
