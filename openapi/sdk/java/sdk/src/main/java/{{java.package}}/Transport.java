package {{java.package}};

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Supplier;

/** Sends calls to one service. */
final class Transport {
  private static final CallOptions NOTHING_SET = new CallOptions();
  private static final String USER_AGENT =
      "{{product}}-java/{{version}} (contract {{contract}}; java " + System.getProperty("java.version") + ")";

  /** Where replies are read and callers told. Never on the thread that times all futures of the program: they may block. */
  private static final ExecutorService WORKERS =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "{{product}}");
            thread.setDaemon(true);
            return thread;
          });

  private final String baseUrl;
  private final String apiKey;
  private final CallOptions defaults;
  private final HttpClient ownClient;
  private final Map<Duration, HttpClient> clients = new ConcurrentHashMap<>();
  private final GatewayClock clock;

  /**
   * @param apiKey null for none
   * @param defaults with timeouts and retries
   * @param ownClient null for the library's
   */
  Transport(String baseUrl, String apiKey, CallOptions defaults, HttpClient ownClient, GatewayClock clock) {
    this.baseUrl = baseUrl;
    this.apiKey = apiKey;
    this.defaults = defaults;
    this.ownClient = ownClient;
    this.clock = clock;
  }

  GatewayClock clock() {
    return clock;
  }

  Executor executor() {
    return ownClient == null ? WORKERS : ownClient.executor().orElse(WORKERS);
  }

  /** {@code http://host:port}. */
  String origin() {
    URI uri = URI.create(baseUrl);
    return uri.getScheme() + "://" + uri.getHost() + (uri.getPort() < 0 ? "" : ":" + uri.getPort());
  }

  /** The base URL, without the user and password that it may have. */
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
    return new Call<>(this, operation, Json.envelopeOf(Json.membersOf(input)), all).start();
  }

  /** The same, for a list: its page is bound to what fetches the one after it. */
  <P extends Page<?>> CompletableFuture<ApiResponse<P>> asyncPage(
      Operation<P> operation, Object input, CallOptions options, BiFunction<P, Supplier<CompletableFuture<P>>, P> bind) {
    ObjectNode members = Json.membersOf(input);
    CallOptions same = options == null ? NOTHING_SET : options.copy();
    return Futures.map(
        async(operation, members, same),
        response -> {
          Supplier<CompletableFuture<P>> next =
              () -> {
                ObjectNode following = members.deepCopy().put("cursor", response.data().getNextCursor());
                return Futures.map(asyncPage(operation, following, same, bind), ApiResponse::data);
              };
          bind.apply(response.data(), next);
          return response;
        });
  }

  /** The first page of a walk over all records. */
  <P extends Page<?>> CompletableFuture<P> asyncFirstPage(
      Operation<P> operation, Object input, CallOptions options, BiFunction<P, Supplier<CompletableFuture<P>>, P> bind) {
    ObjectNode members = Json.membersOf(input);
    if (!members.hasNonNull("page")) members.put("page", 1);
    if (!members.hasNonNull("limit")) members.put("limit", 100);
    return Futures.map(asyncPage(operation, members, options, bind), ApiResponse::data);
  }

  /** Sends one attempt. Its future fails with a TimeoutException when the whole reply isn't there in time. */
  CompletableFuture<HttpResponse<byte[]>> send(String path, byte[] body, CallOptions options, int retries) {
    CompletableFuture<HttpResponse<byte[]>> sent =
        clientFor(options).sendAsync(request(path, body, options, retries), reply -> new LimitedBody());
    return Futures.<HttpResponse<byte[]>, HttpResponse<byte[]>>map(sent, reply -> reply)
        .orTimeout(options.timeout.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** How long it may take to connect. */
  Duration connectTimeout(CallOptions options) {
    return clientFor(options).connectTimeout().orElse(options.connectTimeout);
  }

  private HttpRequest request(String path, byte[] body, CallOptions options, int retries) {
    Map<String, String> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    headers.put("Content-Type", "application/json");
    headers.put("Accept", "application/json");
    headers.put("User-Agent", USER_AGENT);
    if (apiKey != null) headers.put("Authorization", "Bearer " + apiKey);
    if (retries > 0) headers.put("X-Retry-Count", Integer.toString(retries));
    headers.putAll(options.headers);
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(baseUrl + path)).POST(HttpRequest.BodyPublishers.ofByteArray(body));
    headers.forEach(request::setHeader);
    return request.build();
  }

  private HttpClient clientFor(CallOptions options) {
    return ownClient != null ? ownClient : clients.computeIfAbsent(options.connectTimeout, this::newClient);
  }

  private HttpClient newClient(Duration connectTimeout) {
    // Without TLS, HTTP/2 is reached by an upgrade that few servers take.
    boolean secure = baseUrl.regionMatches(true, 0, "https:", 0, 6);
    return HttpClient.newBuilder()
        .version(secure ? HttpClient.Version.HTTP_2 : HttpClient.Version.HTTP_1_1)
        .connectTimeout(connectTimeout)
        .executor(WORKERS)
        .build();
  }

  @Override
  public String toString() {
    return origin() + (apiKey == null ? ", without a key" : ", with a key");
  }
}
