package {{java.package}};

import java.util.Collections;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Supplier;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * All records of a list. A page is fetched when its first record is asked for; each walk begins anew.
 *
 * @param <T> the type of the records
 */
public final class Records<T> implements Iterable<T> {
  private final Supplier<? extends Page<T>> first;

  Records(Supplier<? extends Page<T>> first) {
    this.first = first;
  }

  /**
   * The records, one after another.
   *
   * @return an iterator that throws a {@link GatewayException} after the records that came before it
   */
  @Override
  public Iterator<T> iterator() {
    return new Walk();
  }

  /**
   * The records, one after another.
   *
   * @return a sequential stream that throws a {@link GatewayException} after the records that came before it
   */
  public Stream<T> stream() {
    return StreamSupport.stream(spliterator(), false);
  }

  private final class Walk implements Iterator<T> {
    private Page<T> page;
    private Iterator<T> items = Collections.emptyIterator();

    @Override
    public boolean hasNext() {
      while (!items.hasNext()) {
        if (page != null && !page.hasNextPage()) return false;
        page = page == null ? first.get() : page.nextPage();
        items = page.getItems().iterator();
      }
      return true;
    }

    @Override
    public T next() {
      if (!hasNext()) throw new NoSuchElementException();
      return items.next();
    }
  }
}
