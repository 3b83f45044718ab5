import com.example.contentgateway.*;
import com.example.contentgateway.model.*;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.function.Function;

/** Calls that are cancelled by cancelling their future. */
record AsyncCalls(AsyncContentGateway gateway, CallOptions options, CompletableFuture<Runnable> canceller)
    implements Calls {
  /** What a future becomes. */
  private <T> T await(CompletableFuture<T> call) throws Exception {
    canceller.complete(() -> call.cancel(true));
    try {
      return call.get();
    } catch (ExecutionException failure) {
      throw (RuntimeException) failure.getCause();
    }
  }

  @Override
  public ApiResponse<Game> getById(GameGetByIdInput input) throws Exception {
    return await(gateway.game().withResponse().getById(input, options));
  }

  @Override
  public ApiResponse<Game> getById(String id) throws Exception {
    return await(gateway.game().withResponse().getById(id, options));
  }

  @Override
  public ApiResponse<GameGetRelatedOutput> getRelated(String gameId) throws Exception {
    return await(gateway.game().withResponse().getRelated(gameId, options));
  }

  @Override
  public ApiResponse<Game> create(GameInput input) throws Exception {
    return await(gateway.game().withResponse().create(input, options));
  }

  @Override
  public ApiResponse<GameListPage> list(GameListInput input) throws Exception {
    return await(gateway.game().withResponse().list(input, options));
  }

  @Override
  public ApiResponse<UserSearchOutput> search(String query) throws Exception {
    return await(gateway.user().withResponse().search(query, options));
  }

  @Override
  public ApiResponse<CurrentUser> me() throws Exception {
    return await(gateway.user().withResponse().me(options));
  }

  @Override
  public ApiResponse<JsonNode> call(String operation, JsonNode input) throws Exception {
    return await(gateway.callWithResponse(operation, input, JsonNode.class, options));
  }

  @Override
  public void eachPage(GameListInput input, int take, ArrayNode ids) throws Exception {
    var end = new CompletableFuture<Void>();
    gateway.game().listPages(input, options).subscribe(new Taking<>(GameListPage::getItems, take, ids, end));
    await(end);
  }

  @Override
  public void pages(GameListInput input, ArrayNode ids) throws Exception {
    GameListPage page = await(gateway.game().list(input, options));
    page.getItems().forEach(game -> ids.add(game.getId()));
    while (page.hasNextPage()) {
      page = await(page.nextPageAsync());
      page.getItems().forEach(game -> ids.add(game.getId()));
    }
  }

  @Override
  public void events(String form, JsonNode input, int take, ArrayNode ids) throws Exception {
    await(Feeds.known().take(gateway, form, input, options, take, ids));
  }

  @Override
  public void all(GameListInput input, int take, ArrayNode ids) throws Exception {
    var end = new CompletableFuture<Void>();
    gateway.game().listAll(input, options).subscribe(new Taking<>(List::of, take, ids, end));
    await(end);
  }

  /** Asks for one after another, until it has enough records. */
  private static final class Taking<T> implements Flow.Subscriber<T> {
    private final Function<T, List<GameSummary>> records;
    private final int take;
    private final ArrayNode ids;
    private final CompletableFuture<Void> end;
    private Flow.Subscription subscription;

    Taking(Function<T, List<GameSummary>> records, int take, ArrayNode ids, CompletableFuture<Void> end) {
      this.records = records;
      this.take = take;
      this.ids = ids;
      this.end = end;
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      subscription.request(1);
    }

    @Override
    public void onNext(T item) {
      records.apply(item).forEach(game -> ids.add(game.getId()));
      if (ids.size() < take) {
        subscription.request(1);
        return;
      }
      subscription.cancel();
      end.complete(null);
    }

    @Override
    public void onError(Throwable failure) {
      end.completeExceptionally(failure);
    }

    @Override
    public void onComplete() {
      end.complete(null);
    }
  }
}
