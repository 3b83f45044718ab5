package {{java.package}};

import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** The HTTP clients of a client and of those derived from it: the caller's own, or one for each time to connect. */
final class Connections {
  /** Where replies are read and callers told. Never on the thread that times all futures of the program: they may block. */
  private static final ExecutorService WORKERS =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "{{product}}");
            thread.setDaemon(true);
            return thread;
          });

  private final HttpClient own;
  private final EnvironmentProxies proxies;
  private final Turns turns;
  private final Map<Duration, HttpClient> clients = new ConcurrentHashMap<>();

  /** @param own null for the library's */
  Connections(HttpClient own, EnvironmentProxies proxies, Turns turns) {
    this.own = own;
    this.proxies = proxies;
    this.turns = turns;
  }

  /** Those of the calls of all these clients. */
  Turns turns() {
    return turns;
  }

  Executor executor() {
    return own == null ? WORKERS : own.executor().orElse(WORKERS);
  }

  HttpClient clientFor(CallOptions options) {
    return own != null ? own : clients.computeIfAbsent(options.connectTimeout, this::newClient);
  }

  /** Which version of HTTP to ask for; empty to leave it to the caller's own client. */
  Optional<HttpClient.Version> versionFor(URI uri) {
    if (own != null) return Optional.empty();
    // Without TLS, HTTP/2 is reached by an upgrade that few servers take.
    boolean secure = "https".equalsIgnoreCase(uri.getScheme());
    return Optional.of(secure ? HttpClient.Version.HTTP_2 : HttpClient.Version.HTTP_1_1);
  }

  /**
   * What a proxy is told of its user.
   *
   * @throws UsageException if the environment names a wrong proxy for the address
   */
  Optional<String> proxyAuthorizationFor(URI uri) {
    return own != null ? Optional.empty() : proxies.authorizationFor(uri);
  }

  private HttpClient newClient(Duration connectTimeout) {
    return HttpClient.newBuilder().proxy(proxies).connectTimeout(connectTimeout).executor(WORKERS).build();
  }
}
