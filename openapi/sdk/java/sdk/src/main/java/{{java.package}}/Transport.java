package {{java.package}};

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Supplier;

/** Sends calls to one service. */
final class Transport {
  private static final CallOptions NOTHING_SET = new CallOptions();
  /** How many records are on the page that a list returns. */
  private static final int LIST_SIZE = 20;
  /** How many are on a page of a walk. */
  private static final int WALK_SIZE = 100;
  private static final String USER_AGENT =
      "{{product}}-java/{{version}} (contract {{contract}}; java " + System.getProperty("java.version") + ")";

  private final String baseUrl;
  private final String apiKey;
  private final String userAgent;
  private final CallOptions defaults;
  private final Connections connections;
  private final String proxyAuthorization;
  private final AttemptHooks hooks;
  private final GatewayClock clock;

  /**
   * @param apiKey null for none
   * @param appName null for none
   * @param defaults with timeouts and retries
   * @throws UsageException if the environment names a wrong proxy
   */
  Transport(
      String baseUrl,
      String apiKey,
      String appName,
      CallOptions defaults,
      Connections connections,
      AttemptHooks hooks,
      GatewayClock clock) {
    this.baseUrl = baseUrl;
    this.apiKey = apiKey;
    this.defaults = defaults;
    this.connections = connections;
    this.hooks = hooks;
    this.clock = clock;
    userAgent = appName == null ? USER_AGENT : USER_AGENT + " " + appName;
    proxyAuthorization = connections.proxyAuthorizationFor(URI.create(baseUrl)).orElse(null);
  }

  GatewayClock clock() {
    return clock;
  }

  AttemptHooks hooks() {
    return hooks;
  }

  boolean hasKey() {
    return apiKey != null;
  }

  Turns turns() {
    return connections.turns();
  }

  Executor executor() {
    return connections.executor();
  }

  /** {@code http://host:port}. */
  String origin() {
    URI uri = URI.create(baseUrl);
    return uri.getScheme() + "://" + uri.getHost() + (uri.getPort() < 0 ? "" : ":" + uri.getPort());
  }

  /** The base URL. */
  String address() {
    return origin() + URI.create(baseUrl).getRawPath();
  }

  /**
   * Calls an operation.
   *
   * @param input the parameters, or null for none
   * @param options null for the client's
   */
  <T> CompletableFuture<ApiResponse<T>> async(Operation<T> operation, Object input, CallOptions options) {
    CallOptions all = (options == null ? NOTHING_SET : options).over(defaults);
    return new Call<>(this, turns(), operation, Json.envelopeOf(Json.membersOf(input)), all).start();
  }

  /** The same, for a list: its page is bound to what fetches the one after it. */
  <P extends Page<?>> CompletableFuture<ApiResponse<P>> asyncPage(
      Operation<P> operation, Object input, CallOptions options, BiFunction<P, Supplier<CompletableFuture<P>>, P> bind) {
    ObjectNode members = withDefaults(Json.membersOf(input), LIST_SIZE);
    CallOptions same = options == null ? NOTHING_SET : options.copy();
    return Futures.map(
        async(operation, members, same),
        response -> {
          Supplier<CompletableFuture<P>> next =
              () -> {
                ObjectNode following = members.deepCopy().put("cursor", response.data().getNextCursor());
                if (members.path("page").isInt()) following.put("page", members.path("page").intValue() + 1);
                return Futures.map(asyncPage(operation, following, same, bind), ApiResponse::data);
              };
          bind.apply(response.data(), next);
          return response;
        });
  }

  /** Adds the first page, if neither that nor a cursor is given, and a size. */
  private static ObjectNode withDefaults(ObjectNode members, int limit) {
    if (!members.hasNonNull("page") && !members.hasNonNull("cursor")) members.put("page", 1);
    if (!members.hasNonNull("limit")) members.put("limit", limit);
    return members;
  }

  /** An input with the size of a list. */
  static ObjectNode withLimit(Object input) {
    ObjectNode members = Json.membersOf(input);
    if (!members.hasNonNull("limit")) members.put("limit", LIST_SIZE);
    return members;
  }

  /** The first page of a walk over all records. */
  <P extends Page<?>> CompletableFuture<P> asyncFirstPage(
      Operation<P> operation, Object input, CallOptions options, BiFunction<P, Supplier<CompletableFuture<P>>, P> bind) {
    ObjectNode members = withDefaults(Json.membersOf(input), WALK_SIZE);
    return Futures.map(asyncPage(operation, members, options, bind), ApiResponse::data);
  }

  /** Sends one attempt. Its future fails with a TimeoutException when the whole reply isn't there in time. */
  CompletableFuture<HttpResponse<Body>> send(String path, byte[] body, CallOptions options, int retries) {
    CompletableFuture<HttpResponse<Body>> sent =
        connections.clientFor(options).sendAsync(requestOf(path, body, options, retries), reply -> new LimitedBody());
    return Futures.<HttpResponse<Body>, HttpResponse<Body>>map(sent, reply -> reply)
        .orTimeout(options.timeout.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** Sends a read whose reply may be a stream, without an end to its time. */
  <B> CompletableFuture<HttpResponse<B>> open(
      String path, ObjectNode input, CallOptions options, int retries, HttpResponse.BodyHandler<B> handler) {
    String query = "?input=" + URLEncoder.encode(new String(Json.envelopeOf(input), UTF_8), UTF_8);
    HttpRequest.Builder request = request(path + query, "text/event-stream", options, retries).GET();
    return Futures.map(connections.clientFor(options).sendAsync(request.build(), handler), reply -> reply);
  }

  /** Options with those of the client where they say nothing. */
  CallOptions whole(CallOptions options) {
    return options.over(defaults);
  }

  /** How long it may take to connect. */
  Duration connectTimeout(CallOptions options) {
    return connections.clientFor(options).connectTimeout().orElse(options.connectTimeout);
  }

  private HttpRequest requestOf(String path, byte[] body, CallOptions options, int retries) {
    HttpRequest.Builder request = request(path, "application/json", options, retries);
    if (!options.headers.containsKey("Content-Type")) request.setHeader("Content-Type", "application/json");
    return request.POST(HttpRequest.BodyPublishers.ofByteArray(body)).build();
  }

  private HttpRequest.Builder request(String path, String accept, CallOptions options, int retries) {
    Map<String, String> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    headers.put("Accept", accept);
    headers.put("User-Agent", userAgent);
    if (apiKey != null) headers.put("Authorization", "Bearer " + apiKey);
    if (proxyAuthorization != null) headers.put("Proxy-Authorization", proxyAuthorization);
    if (retries > 0) headers.put("X-Retry-Count", Integer.toString(retries));
    headers.putAll(options.headers);
    URI uri = URI.create(baseUrl + path);
    HttpRequest.Builder request = HttpRequest.newBuilder(uri);
    headers.forEach(request::setHeader);
    connections.versionFor(uri).ifPresent(request::version);
    return request;
  }

  @Override
  public String toString() {
    return origin() + (apiKey == null ? ", without a key" : ", with a key");
  }
}
