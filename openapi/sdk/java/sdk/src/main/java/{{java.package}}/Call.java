package {{java.package}};

import com.fasterxml.jackson.databind.JsonNode;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;

/** One call: its attempts, one after another, and the waits between them. */
class Call<T> {
  private final Transport transport;
  private final Turns turns;
  private final Operation<T> operation;
  private final byte[] body;
  private final CallOptions options;
  private final CompletableFuture<ApiResponse<T>> outcome = new CompletableFuture<>();
  private volatile Future<?> step = CompletableFuture.completedFuture(null);
  private int attempts;
  private long began;

  /**
   * Prepares a call.
   *
   * @param turns those of which each attempt takes one
   * @param options those of the client included
   */
  Call(Transport transport, Turns turns, Operation<T> operation, byte[] body, CallOptions options) {
    this.transport = transport;
    this.turns = turns;
    this.operation = operation;
    this.body = body;
    this.options = options;
    if (operation.writes()) {
      String key = options.idempotencyKey == null ? UUID.randomUUID().toString() : options.idempotencyKey;
      options.headers.putIfAbsent("Idempotency-Key", key);
    }
  }

  /** What is completed when the call is. Cancelling it cancels the call. */
  CompletableFuture<ApiResponse<T>> start() {
    outcome.whenComplete((response, failure) -> step.cancel(true));
    awaitTurn();
    return outcome;
  }

  /** Makes an attempt once it is its turn. */
  private void awaitTurn() {
    CompletableFuture<Void> turn = turns.take();
    if (turn.isDone()) {
      attempt();
      return;
    }
    proceedTo(turn);
    turn.whenCompleteAsync(
        (nothing, cancelled) -> {
          if (cancelled == null) attempt();
        },
        transport.executor());
  }

  private void attempt() {
    if (outcome.isDone()) {
      turns.giveBack();
      return;
    }
    attempts++;
    began = System.nanoTime();
    CompletableFuture<HttpResponse<Body>> reply;
    try {
      reply = send(operation, attempts - 1);
    } catch (RuntimeException | Error error) {
      turns.giveBack();
      outcome.completeExceptionally(error instanceof Error || error instanceof UsageException ? error : notTaken(error));
      return;
    }
    reply.whenComplete((whole, failure) -> turns.giveBack());
    proceedTo(reply);
    reply.whenCompleteAsync(this::judge, transport.executor());
  }

  /** The error of a request that the HTTP client refuses, such as for a header that it sets itself. */
  private UsageException notTaken(Throwable error) {
    return new UsageException(operation.id() + ": the request cannot be sent: " + error.getMessage(), error);
  }

  /** Makes an attempt. */
  CompletableFuture<HttpResponse<Body>> send(Operation<T> operation, int retries) {
    return transport.send(operation.path(), body, options, retries);
  }

  /**
   * Reads the reply to an attempt.
   *
   * @throws GatewayException if it is a failure
   */
  ApiResponse<T> read(Operation<T> operation, Attempt attempt, HttpResponse<Body> reply) {
    return Replies.read(operation, inputOf(body), attempt, reply, transport.clock());
  }

  private void proceedTo(Future<?> next) {
    step = next;
    if (outcome.isDone()) next.cancel(true);
  }

  private void judge(HttpResponse<Body> reply, Throwable failure) {
    if (outcome.isDone()) return;
    Duration duration = Duration.ofNanos(System.nanoTime() - began);
    String key = operation.writes() ? options.headers.get("Idempotency-Key") : null;
    boolean hasKey = transport.hasKey() || options.headers.containsKey("Authorization");
    Attempt attempt = new Attempt(operation.id(), transport.origin(), transport.address(), hasKey, attempts, key);
    try {
      conclude(attempt, reply, failure, duration);
    } catch (RuntimeException | Error error) {
      outcome.completeExceptionally(error);
    }
  }

  private void conclude(Attempt attempt, HttpResponse<Body> reply, Throwable failure, Duration duration) {
    ApiResponse<T> response;
    try {
      response = responseOf(attempt, reply, failure);
    } catch (GatewayException error) {
      repeatUnlessFutile(attempt, error, duration);
      return;
    }
    transport.hooks().tell(AttemptEvent.of(attempt, response, duration));
    outcome.complete(response);
  }

  /** @throws GatewayException if the attempt failed */
  private ApiResponse<T> responseOf(Attempt attempt, HttpResponse<Body> reply, Throwable failure) {
    if (failure != null) throw errorOf(attempt, Futures.causeOf(failure));
    if (ProxyRefusal.isOne(reply)) throw new ApiConnectionException(attempt, ProxyRefusal.of(reply));
    return read(operation, attempt, reply);
  }

  private static JsonNode inputOf(byte[] body) {
    return Json.parse(new String(body, StandardCharsets.UTF_8));
  }

  private GatewayException errorOf(Attempt attempt, Throwable cause) {
    if (cause instanceof TimeoutException) return ApiTimeoutException.ofReply(attempt, options.timeout, cause);
    if (cause instanceof HttpConnectTimeoutException) {
      return ApiTimeoutException.ofConnection(attempt, transport.connectTimeout(options), cause);
    }
    return new ApiConnectionException(attempt, cause);
  }

  private void repeatUnlessFutile(Attempt attempt, GatewayException error, Duration duration) {
    Optional<Duration> wait = attempts > options.maxRetries ? Optional.empty() : Retries.waitAfter(error, attempts);
    transport.hooks().tell(AttemptEvent.of(attempt, error, duration, wait));
    // The hook may have cancelled the call.
    if (outcome.isDone()) return;
    if (wait.isEmpty()) {
      outcome.completeExceptionally(error);
      return;
    }
    CompletableFuture<Void> pause = transport.clock().sleep(wait.get());
    proceedTo(pause);
    pause.whenCompleteAsync(
        (nothing, failure) -> {
          if (failure == null) awaitTurn();
          else outcome.completeExceptionally(Futures.causeOf(failure));
        },
        transport.executor());
  }
}
