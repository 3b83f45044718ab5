import com.example.contentgateway.*;
import com.example.contentgateway.model.*;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.concurrent.CompletableFuture;

/** Calls that are cancelled by interrupting the thread. */
record SyncCalls(ContentGateway gateway, CallOptions options) implements Calls {
  SyncCalls(ContentGateway gateway, CallOptions options, CompletableFuture<Runnable> canceller) {
    this(gateway, options);
    canceller.complete(Thread.currentThread()::interrupt);
  }

  @Override
  public ApiResponse<Game> getById(GameGetByIdInput input) {
    return gateway.game().withResponse().getById(input, options);
  }

  @Override
  public ApiResponse<Game> getById(String id) {
    return gateway.game().withResponse().getById(id, options);
  }

  @Override
  public ApiResponse<GameGetRelatedOutput> getRelated(String gameId) {
    return gateway.game().withResponse().getRelated(gameId, options);
  }

  @Override
  public ApiResponse<Game> create(GameInput input) {
    return gateway.game().withResponse().create(input, options);
  }

  @Override
  public ApiResponse<GameListPage> list(GameListInput input) {
    return gateway.game().withResponse().list(input, options);
  }

  @Override
  public ApiResponse<UserSearchOutput> search(String query) {
    return gateway.user().withResponse().search(query, options);
  }

  @Override
  public ApiResponse<CurrentUser> me() {
    return gateway.user().withResponse().me(options);
  }

  @Override
  public ApiResponse<JsonNode> call(String operation, JsonNode input) {
    return gateway.callWithResponse(operation, input, JsonNode.class, options);
  }

  @Override
  public void eachPage(GameListInput input, int take, ArrayNode ids) {
    for (GameListPage page : gateway.game().listPages(input, options)) {
      page.getItems().forEach(game -> ids.add(game.getId()));
      if (ids.size() >= take) return;
    }
  }

  @Override
  public void pages(GameListInput input, ArrayNode ids) {
    GameListPage page = gateway.game().list(input, options);
    page.getItems().forEach(game -> ids.add(game.getId()));
    while (page.hasNextPage()) {
      page = page.nextPage();
      page.getItems().forEach(game -> ids.add(game.getId()));
    }
  }

  @Override
  public void events(String form, JsonNode input, int take, ArrayNode ids) throws Exception {
    Feeds.known().take(gateway, form, input, options, take, ids);
  }

  @Override
  public void all(GameListInput input, int take, ArrayNode ids) {
    gateway.game().listAll(input, options).stream().limit(take).forEach(game -> ids.add(game.getId()));
  }
}
