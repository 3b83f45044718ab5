package {{java.package}};

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * All pages of a list. A page is fetched when it is asked for; each walk begins anew.
 *
 * @param <P> the type of the pages
 */
public final class Pages<P extends Page<?>> implements Iterable<P> {
  private final Supplier<P> first;
  private final UnaryOperator<P> next;

  Pages(Supplier<P> first, UnaryOperator<P> next) {
    this.first = first;
    this.next = next;
  }

  /**
   * The pages, one after another.
   *
   * @return an iterator that throws a {@link GatewayException} after the pages that came before it
   */
  @Override
  public Iterator<P> iterator() {
    return new Walk();
  }

  /**
   * The pages, one after another.
   *
   * @return a sequential stream that throws a {@link GatewayException} after the pages that came before it
   */
  public Stream<P> stream() {
    return StreamSupport.stream(spliterator(), false);
  }

  private final class Walk implements Iterator<P> {
    private P page;

    @Override
    public boolean hasNext() {
      return page == null || page.hasNextPage();
    }

    @Override
    public P next() {
      if (!hasNext()) throw new NoSuchElementException();
      page = page == null ? first.get() : next.apply(page);
      return page;
    }
  }
}
