package com.example.contentgateway;

import static com.example.contentgateway.Checking.client;
import static com.example.contentgateway.Checking.failure;
import static com.example.contentgateway.Checking.has;
import static com.example.contentgateway.Checking.lacks;
import static com.example.contentgateway.Checking.same;
import static com.example.contentgateway.Checking.usageError;

import com.example.contentgateway.model.CurrentUser;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** What no scripted exchange shows: derived clients, hooks that cancel, the log, replies that are large, wrong usage. */
final class Network {
  public static void main(String[] args) throws Exception {
    Listener server = Listener.gateway(false);
    String baseUrl = "http://" + server.host();
    derivedClients(server, baseUrl);
    crowds();
    hooks();
    log(baseUrl);
    largeReplies();
    faultyClock();
    typeFaults();
    wrongUsage(baseUrl);
  }

  /** A client that is derived from another has its connections. */
  private static void derivedClients(Listener server, String baseUrl) {
    var gateway = client(baseUrl, Map.of()).build();
    gateway.call("game.getNewest", null);
    var derived = gateway.withOptions(options -> options.apiKey("").timeout(Duration.ofSeconds(20)));
    server.heads.clear();
    derived.call("game.getNewest", null);
    same(1, server.connections.get());
    lacks(server.heads.iterator().next(), "cgk_network");
  }

  /** Calls wait for their turn, those of derived clients too, and there are no more connections than turns. */
  private static void crowds() throws Exception {
    var server = Listener.gateway(false);
    var gateway = client("http://" + server.host(), Map.of()).maxConnections(5).build();
    var derived = gateway.withOptions(options -> options.apiKey(""));
    for (int times = 0; times < 2; times++) {
      var crowd = new ArrayList<CompletableFuture<?>>();
      for (int number = 0; number < 500; number++) {
        crowd.add((number % 2 == 0 ? gateway : derived).async().call("game.getNewest", null));
      }
      crowd.forEach(CompletableFuture::join);
    }
    same(1000, server.heads.size());
    same(5, server.connections.get());
    waitingIsCancelled();
  }

  /** A call that is cancelled while it waits for its turn takes none. */
  private static void waitingIsCancelled() throws Exception {
    var arrived = new CompletableFuture<Void>();
    var answer = new CompletableFuture<Void>();
    var slow =
        Listener.answering(
            (head, socket) -> {
              arrived.complete(null);
              answer.join();
              Listener.write(socket, "200 OK", "{\"result\":{\"data\":{\"json\":{}}}}");
            });
    var gateway = client("http://" + slow.host(), Map.of()).maxConnections(1).build().async();
    var first = gateway.call("game.getNewest", null);
    arrived.join();
    var second = gateway.call("game.getNewest", null);
    var third = gateway.call("game.getNewest", null);
    second.cancel(true);
    answer.complete(null);
    first.join();
    third.join();
    same(2, slow.heads.size());
  }

  /** A clock by which no wait ends, which does something before. */
  private static GatewayClock clock(Runnable before) {
    return new GatewayClock() {
      @Override
      public Instant now() {
        return Instant.now();
      }

      @Override
      public CompletableFuture<Void> sleep(Duration wait) {
        before.run();
        return new CompletableFuture<>();
      }
    };
  }

  /** A hook may cancel the call of which it is told, which then doesn't wait. */
  private static void hooks() throws InterruptedException {
    var call = new CompletableFuture<CompletableFuture<?>>();
    var waits = new AtomicInteger();
    GatewayClock clock = clock(waits::incrementAndGet);
    var executor = Executors.newCachedThreadPool();
    var options = client("http://127.0.0.1:1", Map.of()).maxRetries(2).clock(clock);
    options.httpClient(HttpClient.newBuilder().executor(executor).build());
    var gateway = options.onAttempt(event -> call.join().cancel(true)).build();
    call.complete(gateway.async().call("game.getNewest", null));
    try {
      call.join().join();
      throw new AssertionError("It isn't cancelled.");
    } catch (CancellationException cancelled) {
      executor.shutdown();
      same(true, executor.awaitTermination(10, TimeUnit.SECONDS));
      same(0, waits.get());
    }
  }

  /** The log is asked for by the environment, and is a line for each attempt. */
  private static void log(String baseUrl) {
    var written = new ByteArrayOutputStream();
    var before = System.err;
    System.setErr(new PrintStream(written, true, StandardCharsets.UTF_8));
    try {
      var debug = Map.of("CONTENT_GATEWAY_LOG", "debug");
      failure(client("http://127.0.0.1:1", debug).maxRetries(1).build());
      client(baseUrl, debug).build().call("game.getNewest", null);
      client(baseUrl, Map.of("CONTENT_GATEWAY_LOG", "info")).build().call("game.getNewest", null);
      try {
        client(baseUrl, debug).build().game().getById("g1");
      } catch (UnexpectedReplyException lacksMembers) {
        same(200, lacksMembers.status());
      }
    } finally {
      System.setErr(before);
    }
    String lines = written.toString(StandardCharsets.UTF_8).replaceAll("\\d+ ms", "n ms").replaceAll("0\\.\\d+ s", "0.n s");
    same(
        List.of(
            "content-gateway: game.getNewest attempt 1: ApiConnectionException in n ms, again in 0.n s",
            "content-gateway: game.getNewest attempt 2: ApiConnectionException in n ms",
            "content-gateway: game.getNewest attempt 1: 200 in n ms",
            "content-gateway: game.getById attempt 1: 200 UnexpectedReplyException in n ms"),
        lines.lines().toList());
  }

  /** Foreign pages need no memory, and endless replies no more than what is read of them. */
  private static void largeReplies() throws IOException {
    var whole = new CompletableFuture<Boolean>();
    var page = large(50, "text/html", "<p>Hello", whole);
    var foreign = (UnexpectedReplyException) failure(client("http://" + page.host(), Map.of()).build());
    same(500, foreign.body().length());
    has(foreign.getMessage(), "200 text/html, which is no reply of a content gateway. ");
    same(true, whole.join());
    var wholeAgain = new CompletableFuture<Boolean>();
    var endless = large(1_000, "application/json", "[[[[[[[[", wholeAgain);
    var cut = (UnexpectedReplyException) failure(client("http://" + endless.host(), Map.of()).maxRetries(2).build());
    same(500, cut.body().length());
    has(cut.getMessage(), "200 application/json with a body of more than 64 MiB. ");
    same(1, endless.heads.size());
    same(false, wholeAgain.join());
  }

  /** A server that answers at length. Says whether the client took the whole. */
  private static Listener large(int mebibytes, String type, String text, CompletableFuture<Boolean> whole)
      throws IOException {
    byte[] part = text.repeat((1 << 20) / text.length()).getBytes(StandardCharsets.UTF_8);
    String head = "HTTP/1.1 200 OK\r\nContent-Type: " + type + "\r\nConnection: close\r\n\r\n";
    return Listener.answering(
        (request, socket) -> {
          try (OutputStream output = socket.getOutputStream()) {
            output.write(head.getBytes(StandardCharsets.UTF_8));
            for (int written = 0; written < mebibytes; written++) output.write(part);
            whole.complete(true);
          } catch (IOException left) {
            whole.complete(false);
          }
        });
  }

  /** A clock that fails ends the call. */
  private static void faultyClock() throws Exception {
    Runnable fail =
        () -> {
          throw new AssertionError("It doesn't run.");
        };
    var gateway = client("http://127.0.0.1:1", Map.of()).maxRetries(1).clock(clock(fail)).build();
    var call = gateway.async().call("game.getNewest", null);
    try {
      call.get(10, TimeUnit.SECONDS);
      throw new IllegalStateException("It doesn't fail.");
    } catch (ExecutionException failure) {
      same("It doesn't run.", failure.getCause().getMessage());
    }
  }

  /** A member of another type is named by its path, and no more than a little of the reply is shown. */
  private static void typeFaults() throws IOException {
    String start = "user.getNewest: 200 application/json whose output is not readable: ";
    Map<String, String> faults = new HashMap<>();
    faults.put("{\"nickname\":5}", "nickname is not a string");
    faults.put("{\"gameCount\":\"5\"}", "gameCount is not an integer");
    faults.put("{\"apiKey\":[]}", "apiKey is not of the type ApiKeyInfo");
    faults.put("{\"apiKey\":{\"scopes\":{}}}", "apiKey.scopes is not an array");
    faults.put("{\"apiKey\":{\"scopes\":[\"user:read\",7]}}", "apiKey.scopes[1] is not of the type Scope");
    faults.put("{\"socialLinks\":[]}", "socialLinks is not an object");
    faults.put("{\"createdAt\":\"noon\"}", "createdAt is not a time");
    faults.put("{\"socialLinks\":{\"%s\":7}}".formatted("x".repeat(1000)), "socialLinks." + "x".repeat(188));
    for (var fault : faults.entrySet()) {
      String body = "{\"result\":{\"data\":{\"json\":" + fault.getKey() + "}}}";
      var wrong = Listener.answering((head, socket) -> Listener.write(socket, "200 OK", body));
      try {
        client("http://" + wrong.host(), Map.of()).build().call("user.getNewest", null, CurrentUser.class, null);
        throw new AssertionError(fault.getKey() + " is read");
      } catch (UnexpectedReplyException error) {
        same(start + fault.getValue() + ". Is http://" + wrong.host() + " a content gateway?", error.getMessage());
      }
    }
  }

  private static void wrongUsage(String baseUrl) {
    var gateway = client(baseUrl, Map.of()).build();
    for (String name : List.of("game", "game.", "Game.list", "game.list/x", "game.list.x", "game.get-by-id", "a.b\n")) {
      same("An operation has a name such as game.getById.", usageError(() -> gateway.call(name, null)));
      same("An operation has a name such as game.getById.", usageError(() -> gateway.async().call(name, null)));
    }
    same("An input must be an object of JSON.", usageError(() -> gateway.call("game.getNewest", List.of(1))));
    for (String name : List.of("", "my app", "my-app/", "my-app/1/2", "my-app\n")) {
      same("appName must be a name such as my-app or my-app/1.2.", usageError(() -> ContentGateway.builder().appName(name)));
    }
    same("maxConnections must be a whole number from 1.", usageError(() -> ContentGateway.builder().maxConnections(0)));
    same("maxRecords must be a whole number from 1.", usageError(() -> new CallOptions().maxRecords(0)));
  }
}
