package com.example.contentgateway;

import static com.example.contentgateway.Checking.client;
import static com.example.contentgateway.Checking.has;
import static com.example.contentgateway.Checking.lacks;
import static com.example.contentgateway.Checking.same;
import static com.example.contentgateway.Checking.usageError;

import com.example.contentgateway.model.ExtraInfoInput;
import com.example.contentgateway.model.GameInput;
import com.example.contentgateway.model.GameListInput;
import java.net.http.HttpClient;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executors;
import java.util.stream.Stream;

/** What a program gets that uses a client wrongly: the library's own exception before anything is sent. */
final class Usage {
  private static final String PASSWORD = "hunter2";

  public static void main(String[] args) throws Exception {
    baseUrls();
    Listener server = Listener.gateway(false);
    var gateway = client("http://" + server.host(), Map.of()).build();
    texts(gateway);
    nulls(gateway);
    same(0, server.heads.size());
    ownClients("http://" + server.host());
  }

  /** A base URL that has more than an address would send that in place of the key, or elsewhere. */
  private static void baseUrls() {
    Stream.of(
            "https://me:" + PASSWORD + "@gateway.invalid",
            "https://" + PASSWORD + "@gateway.invalid",
            "https://:" + PASSWORD + "@gateway.invalid/base",
            "https://me%40:" + PASSWORD + "%2f@gateway.invalid",
            "https://other.invalid\\@" + PASSWORD + "@gateway.invalid",
            "https://gateway.invalid?key=" + PASSWORD,
            "https://gateway.invalid?",
            "https://gateway.invalid/#" + PASSWORD,
            "ftp://gateway.invalid/" + PASSWORD,
            "https:gateway.invalid/" + PASSWORD,
            "https://gateway.invalid:65536")
        .forEach(
            address -> {
              var environment = ContentGateway.builder();
              environment.environment = Map.of("CONTENT_GATEWAY_URL", address);
              var other = client("https://gateway.invalid", Map.of()).build();
              for (Runnable use :
                  List.<Runnable>of(
                      () -> client(address, Map.of()).build(),
                      environment::build,
                      () -> other.withOptions(options -> options.baseUrl(address)))) {
                has(usageError(use), "must be an http or https URL");
                lacks(usageError(use), PASSWORD);
              }
            });
  }

  /** Half of a surrogate pair has no bytes, wherever it is. */
  private static void texts(ContentGateway gateway) {
    for (String half : List.of("\ud800", "a\udfff", "\ud83d \ude00")) {
      for (Runnable use :
          List.<Runnable>of(
              () -> gateway.game().create(new GameInput().title(half)),
              () -> gateway.async().game().create(new GameInput().title(half)),
              () -> gateway.game().create(new GameInput().title("a").tagNames(List.of("b", half))),
              () -> gateway.game().create(new GameInput().title("a").extraInfo(new ExtraInfoInput().fileSize(half))),
              () -> gateway.game().getById(half),
              () -> gateway.call("game.getNewest", Map.of("a", List.of(Map.of("b", half)))),
              () -> gateway.call("game.getNewest", Map.of(half, 1)),
              () -> gateway.game().listAll(new GameListInput().cursor(half)).iterator().next())) {
        same("The input has a text with half of a surrogate pair.", usageError(use));
      }
      has(usageError(() -> new CallOptions().header("X-Name", half)), "a header cannot hold");
      has(usageError(() -> new CallOptions().idempotencyKey(half)), "a header cannot hold");
    }
    Map<String, Object> loop = new HashMap<>();
    loop.put("itself", loop);
    for (Object input : List.of(Map.of("a", new Object()), loop)) {
      has(usageError(() -> gateway.call("game.getNewest", input)), "cannot be written as JSON");
    }
  }

  private static void nulls(ContentGateway gateway) {
    var builder = ContentGateway.builder();
    for (Runnable use :
        List.<Runnable>of(
            () -> gateway.call(null, null),
            () -> gateway.call("game.getNewest", null, null, null),
            () -> gateway.async().call(null, null),
            () -> gateway.withOptions(null),
            () -> builder.baseUrl(null),
            () -> builder.apiKey(null),
            () -> builder.timeout(null),
            () -> builder.connectTimeout(null),
            () -> builder.header(null, ""),
            () -> builder.header("X-Name", null),
            () -> builder.appName(null),
            () -> builder.onAttempt(null),
            () -> builder.httpClient(null),
            () -> builder.clock(null),
            () -> new CallOptions().idempotencyKey(null),
            () -> new CallOptions().pollInterval(null),
            () -> new CallOptions().silence(null))) {
      lacks(usageError(use), "no error");
    }
    var page = Map.of("items", List.of(), "page", 1, "limit", 1, "total", 2, "totalRelation", "eq", "hasMore", true, "nextCursor", "c");
    lacks(usageError(() -> readAsPage(page).nextPage()), "no error");
  }

  private static GameListPage readAsPage(Map<String, Object> members) {
    try {
      return Json.read(Json.membersOf(members), GameListPage.class);
    } catch (com.fasterxml.jackson.core.JsonProcessingException error) {
      throw new AssertionError(error);
    }
  }

  /** What the HTTP client of a caller doesn't take is wrong usage, too, and no call waits for ever. */
  private static void ownClients(String baseUrl) {
    var gateway = client(baseUrl, Map.of()).build();
    var options = new CallOptions().header("Content-Length", "1");
    has(usageError(() -> gateway.call("game.getNewest", null, Map.class, options)), "game.getNewest: the request cannot be sent");
    try {
      gateway.async().call("game.getNewest", null, Map.class, options).join();
    } catch (CompletionException error) {
      same(UsageException.class, error.getCause().getClass());
    }
    var executor = Executors.newSingleThreadExecutor();
    var own = client(baseUrl, Map.of()).httpClient(HttpClient.newBuilder().executor(executor).build()).build();
    same(Map.of("id", "g1"), own.call("game.getNewest", null, Map.class, null));
    executor.shutdown();
    for (int times = 0; times < 2; times++) {
      try {
        own.call("game.getNewest", null);
        throw new AssertionError("The call didn't fail.");
      } catch (UsageException | GatewayException error) {
        has(error.getMessage(), "game.getNewest: ");
      }
    }
  }
}
