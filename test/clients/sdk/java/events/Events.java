package com.example.contentgateway;

import static com.example.contentgateway.Checking.client;
import static com.example.contentgateway.Checking.has;
import static com.example.contentgateway.Checking.lacks;
import static com.example.contentgateway.Checking.same;
import static com.example.contentgateway.Checking.usageError;

import com.example.contentgateway.model.Event;
import com.example.contentgateway.model.EventListInput;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** How feeds are followed, what of messages of webhooks no shared vector shows, and how long a text may be. */
final class Events {
  private static final Duration HOUR = Duration.ofHours(1);
  private static final String GONE =
      "{\"error\":{\"json\":{\"message\":\"Gone.\",\"data\":{\"reason\":\"EVENTS_GONE\",\"code\":\"NOT_FOUND\"}}}}";

  private final Listener server;
  private final ConcurrentLinkedQueue<String> replies = new ConcurrentLinkedQueue<>();
  private final List<Duration> waits = new ArrayList<>();

  private Events() throws IOException {
    server =
        Listener.answering(
            (head, socket) -> {
              if (head.startsWith("GET")) {
                Listener.write(socket, "405 Method Not Allowed", "");
                return;
              }
              String reply = replies.remove();
              Listener.write(socket, reply.equals(GONE) ? "404 Not Found" : "200 OK", reply);
            });
  }

  public static void main(String[] args) throws Exception {
    new Events().iteration();
    new Events().streams();
    new Events().errors();
    new Events().publication();
    new Events().interruption();
    new Events().cancellation();
    secrets();
    nulls();
    headers();
    times();
    longTexts();
  }

  private static String page(String cursor, boolean hasMore, String... ids) {
    String items =
        Stream.of(ids)
            .map(
                id ->
                    "{\"id\":\"" + id + "\",\"position\":1,\"type\":\"game.polished\",\"record\":{\"kind\":\"shelf\","
                        + "\"id\":\"1\"},\"actorId\":null,\"at\":\"2026-04-01T09:30:00.000Z\"}")
            .collect(Collectors.joining(","));
    return "{\"result\":{\"data\":{\"json\":{\"items\":[" + items + "],\"nextCursor\":\"" + cursor + "\",\"hasMore\":"
        + hasMore + "}}}}";
  }

  /** A client that gets these replies, and whose waits end at once or never. */
  private ContentGateway gateway(boolean waitsForEver, String... pages) {
    replies.addAll(List.of(pages));
    var clock =
        new GatewayClock() {
          @Override
          public Instant now() {
            return Instant.now();
          }

          @Override
          public CompletableFuture<Void> sleep(Duration wait) {
            waits.add(wait);
            return waitsForEver ? new CompletableFuture<>() : CompletableFuture.completedFuture(null);
          }
        };
    return client("http://" + server.host(), Map.of()).clock(clock).build();
  }

  /** A text may be as long as a reply, which is longer than Jackson takes by itself. */
  private static void longTexts() throws IOException {
    String title = "g".repeat(50_000_000);
    var server =
        Listener.answering(
            (head, socket) ->
                Listener.write(socket, "200 OK", "{\"result\":{\"data\":{\"json\":{\"title\":\"" + title + "\"}}}}"));
    JsonNode output = client("http://" + server.host(), Map.of()).build().call("game.getNewest", null);
    same(title.length(), output.get("title").textValue().length());
  }

  private void iteration() {
    var gateway = gateway(false, page("c1", true, "a", "b"), page("c2", false), page("c3", false, "c"));
    var follower = gateway.event().follow(new EventListInput(), new CallOptions().pollInterval(HOUR));
    Iterator<Event> events = follower.iterator();
    for (String id : List.of("a", "b")) {
      same(id, events.next().getId());
      same(Optional.empty(), follower.cursor());
    }
    same("c", events.next().getId());
    same(Optional.of("c2"), follower.cursor());
    same(List.of(HOUR), waits);
  }

  private void streams() {
    var gateway = gateway(false, page("c1", true), page("c1", true, "a"), page("c2", true, "b"));
    var ids = gateway.event().follow().stream().limit(2).map(Event::getId).toList();
    same(List.of("a", "b"), ids);
    // A cursor that leads to itself is not asked for without a pause.
    same(List.of(Duration.ofSeconds(1)), waits);
  }

  private void errors() {
    var follower = gateway(false, page("c1", true, "a"), GONE).event().follow();
    Iterator<Event> events = follower.iterator();
    same("a", events.next().getId());
    try {
      events.next();
      throw new AssertionError("There was no error.");
    } catch (NotFoundException error) {
      same(Optional.of("EVENTS_GONE"), error.reason());
    }
    same(Optional.of("c1"), follower.cursor());
    // It goes on where it was.
    replies.add(page("c2", true, "b", "c"));
    for (Event event : follower) {
      same("b", event.getId());
      break;
    }
    same("c", follower.iterator().next().getId());
  }

  private void publication() {
    var follower = gateway(false, page("c1", true, "a"), page("c2", false, "b"), GONE).async().event().follow();
    List<String> ids = new ArrayList<>();
    try {
      follower.forEach(event -> ids.add(event.getId())).join();
      throw new AssertionError("There was no error.");
    } catch (CompletionException failure) {
      same(NotFoundException.class, failure.getCause().getClass());
    }
    same(List.of("a", "b"), ids);
    same(Optional.of("c2"), follower.cursor());
    same(1, waits.size());
  }

  private void interruption() {
    var follower = gateway(true, page("c1", false, "a")).event().follow();
    Iterator<Event> events = follower.iterator();
    same("a", events.next().getId());
    Thread waiting = Thread.currentThread();
    CompletableFuture.delayedExecutor(100, TimeUnit.MILLISECONDS).execute(waiting::interrupt);
    try {
      events.next();
      throw new AssertionError("There was no error.");
    } catch (CallCancelledException cancelled) {
      same(true, Thread.interrupted());
      has(cancelled.getMessage(), "event.list: ");
    }
    same(Optional.of("c1"), follower.cursor());
  }

  private void cancellation() throws InterruptedException {
    var follower = gateway(true, page("c1", false, "a")).async().event().follow();
    CompletableFuture<Void> end = follower.forEach(event -> {});
    while (follower.cursor().isEmpty()) Thread.sleep(10);
    end.cancel(true);
    same(1, waits.size());
  }

  /** A secret without the form is a wrong argument, and not shown. */
  private static void secrets() {
    for (String secret : List.of("", "whsec_", "whsec_%%%", "c2VjcmV0")) {
      String text = usageError(() -> Webhooks.unwrap(new byte[0], Map.of(), secret));
      has(text, "whsec_ and base64");
      lacks(text, "c2V");
    }
    has(usageError(() -> new CallOptions().pollInterval(Duration.ZERO)), "pollInterval");
  }

  private static void nulls() {
    String[] none = null;
    for (Runnable use :
        List.<Runnable>of(
            () -> new WebhookOptions(none),
            () -> new WebhookOptions("whsec_YQ==").tolerance(null),
            () -> Webhooks.unwrap(new byte[0], name -> null, (WebhookOptions) null),
            () -> Webhooks.unwrap(new byte[0], name -> null, (String) null),
            () -> Webhooks.unwrap(null, name -> null, "whsec_YQ=="),
            () -> Webhooks.unwrap(new byte[0], (Map<String, List<String>>) null, "whsec_YQ=="))) {
      lacks(usageError(use), "no error");
    }
  }

  private static void headers() {
    var headers =
        Map.of("Webhook-Id", List.of("1"), "WEBHOOK-TIMESTAMP", List.of("0"), "webhook-signature", List.of("v1,AAAA"));
    try {
      Webhooks.unwrap(new byte[0], headers, "whsec_c2VjcmV0");
      throw new AssertionError("The message was not refused.");
    } catch (WebhookVerificationException refused) {
      same(WebhookVerificationException.Fault.OLD, refused.fault());
    }
  }

  /** An error says whether the time of a message is too long ago or ahead. */
  private static void times() {
    var clock =
        new GatewayClock() {
          @Override
          public Instant now() {
            return Instant.ofEpochSecond(10_000);
          }

          @Override
          public CompletableFuture<Void> sleep(Duration wait) {
            return CompletableFuture.completedFuture(null);
          }
        };
    var options = new WebhookOptions("whsec_c2VjcmV0", "whsec_AAAA").tolerance(Duration.ofSeconds(30)).clock(clock);
    Map<String, String> refusals = new HashMap<>();
    for (String old : List.of("9969", "0")) refusals.put(old, "webhook: the message is more than 30 s old");
    for (String ahead : List.of("10031", "999999999999999999")) {
      refusals.put(ahead, "webhook: the message is more than 30 s ahead of the clock");
    }
    for (String now : List.of("9970", "10030")) refusals.put(now, "webhook: no signature is that of one of the secrets");
    refusals.put("-1", "webhook: the time is no number of seconds");
    for (var refusal : refusals.entrySet()) {
      var headers = Map.of("webhook-id", "1", "webhook-timestamp", refusal.getKey(), "webhook-signature", "v1,AAAA");
      try {
        Webhooks.unwrap(new byte[0], headers::get, options);
        throw new AssertionError("The message was not refused.");
      } catch (WebhookVerificationException refused) {
        same(refusal.getValue(), refused.getMessage());
      }
    }
    has(usageError(() -> options.tolerance(Duration.ofNanos(-1))), "tolerance");
    has(usageError(() -> Webhooks.unwrap(new byte[0], Map.of())), "no secret");
  }
}
