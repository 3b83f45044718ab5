import com.example.contentgateway.*;
import com.example.contentgateway.model.*;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Does what the fault server lists, and prints in a line of JSON what came of each. */
final class Vectors {
  static final ObjectMapper JSON = JsonMapper.builder().build();
  private static final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);

  public static void main(String[] args) throws Exception {
    URI list = URI.create(System.getenv("VECTORS_URL") + "/vectors?run=" + System.getenv("VECTORS_RUN"));
    var vectors = HttpClient.newHttpClient().send(HttpRequest.newBuilder(list).build(), HttpResponse.BodyHandlers.ofString());
    boolean atClient = false;
    for (JsonNode vector : JSON.readTree(vectors.body())) {
      out.println(JSON.writeValueAsString(play(vector, atClient, args[0].equals("async"))));
      atClient = !atClient;
    }
  }

  private static ObjectNode play(JsonNode vector, boolean atClient, boolean async) throws Exception {
    JsonNode call = vector.get("call");
    ObjectNode result = JSON.createObjectNode().put("name", vector.get("name").textValue());
    var canceller = new CompletableFuture<Runnable>();
    var clock = new FakeClock(vector.path("clockOffsetSeconds").asLong(), result.putArray("waits"), canceller, call);
    ArrayNode events = result.putArray("events");
    var options = new CallOptions();
    ContentGateway gateway =
        clientOf(
            vector,
            client -> {
              client.clock(clock).onAttempt(event -> note(event, events));
              client.apiKey(vector.get("key").isNull() ? "" : vector.get("key").textValue());
              if (call.path("options").has("maxConnections")) {
                client.maxConnections(call.at("/options/maxConnections").intValue());
              }
              if (call.path("options").has("appName")) client.appName(call.at("/options/appName").textValue());
              setOptions(call.path("options"), options, atClient || call.has("via") ? client : null);
            });
    Calls calls = async ? new AsyncCalls(gateway.async(), options, canceller) : new SyncCalls(gateway, options, canceller);

    if (call.path("cancel").asText().equals("during-reply")) {
      CompletableFuture.delayedExecutor(1000, TimeUnit.MILLISECONDS).execute(() -> canceller.join().run());
    }
    try {
      var others = new ArrayList<CompletableFuture<Void>>();
      for (int other = 1; other < call.path("times").asInt(1); other++) {
        others.add(CompletableFuture.runAsync(() -> playAside(call, calls), task -> new Thread(task).start()));
      }
      playCall(call, calls, result);
      others.forEach(CompletableFuture::join);
    } catch (CallCancelledException cancelled) {
      // The thread has to know of it still.
      result.put("cancelled", Thread.interrupted()).put("text", cancelled.getMessage());
    } catch (CancellationException cancelled) {
      result.put("cancelled", true);
    } catch (RuntimeException error) {
      describe(error, gateway, result);
    } finally {
      Thread.interrupted();
    }
    return result;
  }

  private static void playAside(JsonNode call, Calls calls) {
    try {
      playCall(call, calls, JSON.createObjectNode());
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  /** The client of a vector, which may be derived from another one. */
  private static ContentGateway clientOf(JsonNode vector, Consumer<ContentGateway.Builder> set) {
    var client = ContentGateway.builder().baseUrl(vector.get("baseUrl").textValue());
    if (vector.get("call").has("via")) {
      return client.apiKey("cgk_other").header("X-First", "1").maxRetries(0).build().withOptions(set);
    }
    set.accept(client);
    return client.build();
  }

  private static synchronized void note(AttemptEvent event, ArrayNode events) {
    ObjectNode told = events.addObject().put("operation", event.operation()).put("attempt", event.attempt());
    told.put("status", event.status().isPresent() ? event.status().getAsInt() : null);
    told.put("reason", event.reason().orElse(null)).put("requestId", event.requestId().orElse(null));
    told.put("error", event.error().map(Vectors::sharedName).orElse(null));
    told.put("wait", event.pause().map(wait -> wait.toNanos() / 1e9).orElse(null));
    throw new IllegalStateException("What a hook throws is ignored.");
  }

  /** The name that an error has in all languages. */
  private static String sharedName(String name) {
    return name.replaceFirst("Exception$", "Error");
  }

  /** Sets the options of a call; where there is a client that takes them, they are given to it. */
  private static void setOptions(JsonNode options, CallOptions own, ContentGateway.Builder client) {
    for (var header : options.path("headers").properties()) {
      if (client == null) own.header(header.getKey(), header.getValue().textValue());
      else client.header(header.getKey(), header.getValue().textValue());
    }
    if (options.has("maxRetries")) {
      int retries = options.get("maxRetries").intValue();
      if (client == null) own.maxRetries(retries);
      else client.maxRetries(retries);
    }
    if (options.has("timeoutMs")) {
      Duration timeout = Duration.ofMillis(options.get("timeoutMs").longValue());
      if (client == null) own.timeout(timeout);
      else client.timeout(timeout);
    }
    if (options.has("connectTimeoutMs")) {
      Duration timeout = Duration.ofMillis(options.get("connectTimeoutMs").longValue());
      if (client == null) own.connectTimeout(timeout);
      else client.connectTimeout(timeout);
    }
    if (options.has("idempotencyKey")) own.idempotencyKey(options.get("idempotencyKey").textValue());
    if (options.has("silenceMs")) own.silence(Duration.ofMillis(options.get("silenceMs").longValue()));
    if (options.has("maxRecords")) own.maxRecords(options.get("maxRecords").longValue());
  }

  private static void playCall(JsonNode call, Calls calls, ObjectNode result) throws Exception {
    JsonNode input = call.path("input");
    int take = call.path("take").asInt(Integer.MAX_VALUE);
    switch (call.path("form").asText("call")) {
      case "pages" -> calls.pages(read(input, GameListInput.class), result.putArray("items"));
      case "all" -> calls.all(read(input, GameListInput.class), take, result.putArray("items"));
      case "page-iterator" -> calls.eachPage(read(input, GameListInput.class), take, result.putArray("items"));
      case "tail", "follow" -> calls.events(call.path("form").asText(), input, take, result.putArray("items"));
      case "generic" -> {
        ApiResponse<JsonNode> response = calls.call(call.get("operation").textValue(), input);
        result.set("ok", response.data());
        tellMeta(response, result);
      }
      default -> {
        if (call.has("scalar") && call.get("operation").textValue().equals("game.getById")) {
          tell(calls.getById(input.get("id").textValue()), result);
          return;
        }
        switch (call.get("operation").textValue()) {
          case "game.getById" -> tell(calls.getById(read(input, GameGetByIdInput.class)), result);
          case "game.getRelated" -> tellRelated(calls.getRelated(input.get("gameId").textValue()), result);
          case "game.create" -> tell(calls.create(read(input, GameInput.class)), result);
          case "game.list" -> tellPage(calls.list(read(input, GameListInput.class)), result);
          case "user.search" -> tellFound(calls.search(input.get("query").textValue()), result);
          case "user.me" -> tellUser(calls.me(), result);
          default -> throw new IllegalStateException("There is no such operation.");
        }
      }
    }
  }

  private static <T> T read(JsonNode input, Class<T> type) throws Exception {
    return JSON.treeToValue(input.isMissingNode() ? JSON.createObjectNode() : input, type);
  }

  private static void tell(ApiResponse<Game> response, ObjectNode result) {
    Game game = response.data();
    Viewer viewer = game.getViewer();
    String reaction = viewer == null || viewer.getReaction() == null ? null : viewer.getReaction().value();
    result.putObject("ok").put("id", game.getId()).put("title", game.getTitle()).put("reaction", reaction);
    tellMeta(response, result);
  }

  private static void tellRelated(ApiResponse<GameGetRelatedOutput> response, ObjectNode result) {
    ArrayNode ids = result.putObject("ok").putArray("ids");
    response.data().getItems().forEach(game -> ids.add(game.getId()));
    tellMeta(response, result);
  }

  private static void tellFound(ApiResponse<UserSearchOutput> response, ObjectNode result) {
    ArrayNode ids = result.putObject("ok").putArray("ids");
    response.data().getItems().forEach(user -> ids.add(user.getId()));
    tellMeta(response, result);
  }

  private static void tellPage(ApiResponse<GameListPage> response, ObjectNode result) {
    GameListPage page = response.data();
    ObjectNode ok = result.putObject("ok");
    ArrayNode ids = ok.putArray("ids");
    page.getItems().forEach(game -> ids.add(game.getId()));
    ok.put("totalRelation", page.getTotalRelation().value()).put("hasNextPage", page.hasNextPage());
    tellMeta(response, result);
  }

  private static void tellUser(ApiResponse<CurrentUser> response, ObjectNode result) {
    ObjectNode ok = result.putObject("ok").put("nickname", response.data().getNickname());
    ArrayNode scopes = ok.putArray("scopes");
    response.data().getApiKey().getScopes().forEach(scope -> scopes.add(scope.value()));
    tellMeta(response, result);
  }

  private static void tellMeta(ApiResponse<?> response, ObjectNode result) {
    ObjectNode meta = result.putObject("meta").put("status", response.status()).put("attempts", response.attempts());
    meta.put("requestId", response.requestId().orElse(null)).put("replayed", response.replayed());
    meta.set("rateLimit", JSON.valueToTree(response.rateLimit().orElse(null)));
  }

  private static void describe(RuntimeException error, ContentGateway gateway, ObjectNode result) {
    var trace = new StringWriter();
    error.printStackTrace(new PrintWriter(trace));
    result.put("text", error.getMessage()).put("debug", trace + gateway.toString() + gateway.async());
    ObjectNode told = result.putObject("error").put("type", sharedName(error.getClass().getSimpleName()));
    if (error instanceof GatewayException failed) {
      told.put("operation", failed.operation()).put("attempts", failed.attempts());
      told.put("idempotencyKey", failed.idempotencyKey().orElse(null));
    }
    if (error instanceof ApiException api) {
      told.put("status", api.status()).put("reason", api.reason().orElse(null)).put("code", api.code().orElse(null));
      told.put("message", api.serviceMessage().orElse(null)).put("hint", api.hint().orElse(null));
      told.put("docs", api.docs().orElse(null));
      told.put("requestId", api.requestId().orElse(null));
      told.put("retryAfter", api.retryAfter().map(wait -> wait.toNanos() / 1e9).orElse(null));
      told.set("issues", JSON.valueToTree(api.issues()));
    }
    if (error instanceof UnexpectedReplyException strange) {
      told.put("status", strange.status()).put("requestId", strange.requestId().orElse(null)).put("body", strange.body());
    }
  }
}
