package {{java.package}};

import java.net.http.HttpClient;
import java.time.Duration;
import java.util.Map;
import java.util.function.Consumer;

/**
 * A client of {{title}}. Make one and share it: it is safe for use by several threads, and keeps connections.
 *
 * <p>A call that fails throws a {@link GatewayException}; one whose thread is interrupted, a {@link CallCancelledException}.
 */
public final class {{client}} extends Routers {
  private final Builder options;
  private final Transport transport;
  private final Async{{client}} async;

  /**
   * Makes a client by the environment: {@code {{environment}}_URL} says where the service is, {@code
   * {{environment}}_API_KEY} is the key, if there is one.
   *
   * @throws UsageException if there is no base URL, or one or the other cannot be used
   */
  public {{client}}() {
    this(new Builder());
  }

  /** @param options a copy of its own */
  private {{client}}(Builder options) {
    this(options, options.transport());
  }

  private {{client}}(Builder options, Transport transport) {
    super(transport);
    this.options = options;
    this.transport = transport;
    async = new Async{{client}}(transport);
  }

  /**
   * Makes a client with options.
   *
   * @return what to set them with; what isn't set is by the environment, or usual
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * The same client, whose calls return at once.
   *
   * @return the asynchronous form, which shares connections and options
   */
  public Async{{client}} async() {
    return async;
  }

  /**
   * Makes a client with other options, for a part of the program: {@code gateway.withOptions(options ->
   * options.maxRetries(5))}. Those that aren't set are as this client has them; it shares connections.
   *
   * @param change sets options
   * @return the client
   * @throws UsageException if an option cannot be used
   */
  public {{client}} withOptions(Consumer<Builder> change) {
    Builder changed = options.copy();
    Checks.given("change", change).accept(changed);
    return changed.build();
  }

  @Override
  public String toString() {
    return "{{client}}[" + transport + "]";
  }

  /** The options of a client. */
  public static final class Builder {
    private String baseUrl;
    private String apiKey;
    private CallOptions defaults =
        new CallOptions().timeout(Duration.ofSeconds(30)).connectTimeout(Duration.ofSeconds(5)).maxRetries(2);
    private String appName;
    private Consumer<? super AttemptEvent> hook;
    private HttpClient own;
    private int maxConnections = Turns.USUAL;
    /** Null until there are some. */
    private Connections connections;
    private GatewayClock clock = GatewayClock.SYSTEM;
    /** The variables of the environment. */
    Map<String, String> environment = System.getenv();

    private Builder() {}

    private Builder copy() {
      Builder copy = new Builder();
      copy.baseUrl = baseUrl;
      copy.apiKey = apiKey;
      copy.defaults = defaults.copy();
      copy.appName = appName;
      copy.hook = hook;
      copy.own = own;
      copy.maxConnections = maxConnections;
      copy.connections = connections;
      copy.clock = clock;
      copy.environment = environment;
      return copy;
    }

    /**
     * Sets where the service is. Usually {@code {{environment}}_URL}.
     *
     * @param baseUrl such as {@code {{homepage}}}
     * @return this
     */
    public Builder baseUrl(String baseUrl) {
      this.baseUrl = Checks.given("baseUrl", baseUrl);
      return this;
    }

    /**
     * Sets the API key. Usually {@code {{environment}}_API_KEY}.
     *
     * @param apiKey the key; empty to call public operations only
     * @return this
     */
    public Builder apiKey(String apiKey) {
      this.apiKey = Checks.given("apiKey", apiKey);
      return this;
    }

    /**
     * Sets how long an attempt may take: to connect, to send and to receive the whole reply. Usually 30 seconds.
     *
     * @param timeout more than zero
     * @return this
     * @throws UsageException if it is zero or less
     */
    public Builder timeout(Duration timeout) {
      defaults.timeout(timeout);
      return this;
    }

    /**
     * Sets how long it may take to connect. Usually 5 seconds. It has no effect with an HTTP client of your own.
     *
     * @param connectTimeout more than zero
     * @return this
     * @throws UsageException if it is zero or less
     */
    public Builder connectTimeout(Duration connectTimeout) {
      defaults.connectTimeout(connectTimeout);
      return this;
    }

    /**
     * Sets how often to try again after a failure that may pass. Usually 2.
     *
     * @param maxRetries zero or more
     * @return this
     * @throws UsageException if it is less than zero
     */
    public Builder maxRetries(int maxRetries) {
      defaults.maxRetries(maxRetries);
      return this;
    }

    /**
     * Sets a header of every request. It wins over the library's own.
     *
     * @param name the header's name
     * @param value its value
     * @return this
     * @throws UsageException if HTTP has no such name or value
     */
    public Builder header(String name, String value) {
      defaults.header(name, value);
      return this;
    }

    /**
     * Sets the name of your app, which the {@code User-Agent} ends with.
     *
     * @param appName such as {@code my-app} or {@code my-app/1.2}
     * @return this
     * @throws UsageException if it isn't of this form
     */
    public Builder appName(String appName) {
      this.appName = Checks.appName(appName);
      return this;
    }

    /**
     * Sets what is told of each attempt that ended by itself, before the call waits for the next or ends. What it throws is
     * ignored. It is called on a thread of the library.
     *
     * @param hook takes the attempts, also several at once
     * @return this
     */
    public Builder onAttempt(Consumer<? super AttemptEvent> hook) {
      this.hook = Checks.given("hook", hook);
      return this;
    }

    /**
     * Sets what sends the requests, for a proxy, TLS or an executor of your own. The environment then names no proxy.
     *
     * @param httpClient one that doesn't follow redirects: it would take the key along
     * @return this
     * @throws UsageException if it follows redirects
     */
    public Builder httpClient(HttpClient httpClient) {
      if (Checks.given("httpClient", httpClient).followRedirects() != HttpClient.Redirect.NEVER) {
        throw new UsageException("The HTTP client must not follow redirects: it would take the key along.");
      }
      own = httpClient;
      connections = null;
      return this;
    }

    /**
     * Sets how many calls are under way at once, and so how many connections there are, for a client and those derived from it.
     * Usually 100. Other calls wait for their turn, before the time of their attempt begins. A derived client with another
     * limit has connections of its own, unless the HTTP client is yours.
     *
     * @param maxConnections one or more
     * @return this
     * @throws UsageException if it is less than one
     */
    public Builder maxConnections(int maxConnections) {
      this.maxConnections = (int) Checks.positive("maxConnections", maxConnections);
      connections = null;
      return this;
    }

    /**
     * Sets what the client knows of time. For tests.
     *
     * @param clock the clock
     * @return this
     */
    public Builder clock(GatewayClock clock) {
      this.clock = Checks.given("clock", clock);
      return this;
    }

    /**
     * Makes the client.
     *
     * @return a client, which later changes of this builder don't reach
     * @throws UsageException if there is no base URL, or it or the key cannot be used
     */
    public {{client}} build() {
      return new {{client}}(copy());
    }

    private Transport transport() {
      String key = apiKey == null ? environment.get("{{environment}}_API_KEY") : apiKey;
      if (connections == null) {
        EnvironmentProxies proxies = own == null ? new EnvironmentProxies(environment) : null;
        connections = new Connections(own, proxies, new Turns(maxConnections));
      }
      return new Transport(
          Checks.baseUrl(baseUrl == null ? environment.get("{{environment}}_URL") : baseUrl),
          key == null || key.isEmpty() ? null : Checks.headerValue("The API key", key),
          appName,
          defaults,
          connections,
          new AttemptHooks(hook, "debug".equals(environment.get("{{environment}}_LOG"))),
          clock);
    }
  }
}
