package {{java.package}};

import java.util.Collections;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * All records of a list. A page is fetched when its first record is asked for; each walk begins anew.
 *
 * @param <T> the type of the records
 */
public final class Records<T> implements Iterable<T> {
  private final Pages<? extends Page<T>> pages;
  private final long most;

  Records(Pages<? extends Page<T>> pages, long most) {
    this.pages = pages;
    this.most = most;
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
    private final Iterator<? extends Page<T>> following = pages.iterator();
    private Iterator<T> items = Collections.emptyIterator();
    private long left = most;

    @Override
    public boolean hasNext() {
      if (left == 0) return false;
      while (!items.hasNext()) {
        if (!following.hasNext()) return false;
        items = following.next().getItems().iterator();
      }
      return true;
    }

    @Override
    public T next() {
      if (!hasNext()) throw new NoSuchElementException();
      left--;
      return items.next();
    }
  }
}
