package {{java.package}};

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;

/** What {@link CompletableFuture} leaves to its users. */
final class Futures {
  private Futures() {}

  /** What went wrong, without the wrapping of futures. */
  static Throwable causeOf(Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
  }

  /** A future of something made of the source's outcome. It fails as the source does, and cancels the source. */
  static <A, B> CompletableFuture<B> map(CompletableFuture<A> source, Function<? super A, ? extends B> function) {
    CompletableFuture<B> mapped = new CompletableFuture<>();
    mapped.whenComplete((value, failure) -> source.cancel(true));
    source.whenComplete(
        (value, failure) -> {
          try {
            if (failure == null) mapped.complete(function.apply(value));
            else mapped.completeExceptionally(causeOf(failure));
          } catch (RuntimeException | Error error) {
            mapped.completeExceptionally(error);
          }
        });
    return mapped;
  }

  /** A future of what follows a source. It fails as one or the other does, and cancels what is under way. */
  static <A, B> CompletableFuture<B> compose(
      CompletableFuture<A> source, Function<? super A, CompletableFuture<B>> next, Executor executor) {
    CompletableFuture<B> composed = new CompletableFuture<>();
    composed.whenComplete((value, failure) -> source.cancel(true));
    source.whenCompleteAsync(
        (value, failure) -> {
          if (failure != null) {
            composed.completeExceptionally(causeOf(failure));
            return;
          }
          if (composed.isDone()) return;
          CompletableFuture<B> following = next.apply(value);
          composed.whenComplete((result, error) -> following.cancel(true));
          following.whenComplete(
              (result, error) -> {
                if (error == null) composed.complete(result);
                else composed.completeExceptionally(causeOf(error));
              });
        },
        executor);
    return composed;
  }

  /** A future of what follows a source, however that ends. It fails as what follows does, and cancels what is under way. */
  static <A, B> CompletableFuture<B> handle(
      CompletableFuture<A> source, BiFunction<? super A, Throwable, CompletableFuture<B>> next, Executor executor) {
    CompletableFuture<CompletableFuture<B>> following = new CompletableFuture<>();
    following.whenComplete((value, failure) -> source.cancel(true));
    source.whenCompleteAsync(
        (value, failure) -> {
          if (following.isDone()) return;
          try {
            following.complete(next.apply(value, failure == null ? null : causeOf(failure)));
          } catch (RuntimeException | Error error) {
            following.completeExceptionally(error);
          }
        },
        executor);
    return compose(following, one -> one, executor);
  }

  /**
   * Begins a call, and waits for its end.
   *
   * @throws GatewayException as the call does
   * @throws CallCancelledException if the thread is interrupted: the call is cancelled, or not begun
   */
  static <T> T await(String operation, Supplier<CompletableFuture<T>> begin) {
    if (Thread.currentThread().isInterrupted()) throw new CallCancelledException(operation, null);
    CompletableFuture<T> call = begin.get();
    try {
      return call.get();
    } catch (InterruptedException interruption) {
      call.cancel(true);
      Thread.currentThread().interrupt();
      throw new CallCancelledException(operation, interruption);
    } catch (ExecutionException failure) {
      Throwable cause = failure.getCause();
      // So that the trace leads to the caller, not to a thread of the HTTP client.
      if (cause instanceof GatewayException) cause.fillInStackTrace();
      if (cause instanceof RuntimeException) throw (RuntimeException) cause;
      if (cause instanceof Error) throw (Error) cause;
      throw new IllegalStateException(cause);
    }
  }
}
