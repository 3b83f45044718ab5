package {{java.package}};

import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;

/**
 * What one call does otherwise than the client: {@code new CallOptions().timeout(Duration.ofSeconds(5)).maxRetries(0)}.
 * What isn't set is as the client has it.
 */
public final class CallOptions {
  Duration timeout;
  Duration connectTimeout;
  Integer maxRetries;
  String idempotencyKey;
  Long maxRecords;
  Duration pollInterval;
  Duration silence;
  final Map<String, String> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);

  /** Makes options of which nothing is set. */
  public CallOptions() {}

  /**
   * Sets how long an attempt may take: to connect, to send and to receive the whole reply.
   *
   * @param timeout more than zero
   * @return this
   * @throws UsageException if it is zero or less
   */
  public CallOptions timeout(Duration timeout) {
    this.timeout = Checks.positive("timeout", timeout);
    return this;
  }

  /**
   * Sets how long it may take to connect. Each value that is in use has connections of its own. It has no effect with an
   * HTTP client of your own.
   *
   * @param connectTimeout more than zero
   * @return this
   * @throws UsageException if it is zero or less
   */
  public CallOptions connectTimeout(Duration connectTimeout) {
    this.connectTimeout = Checks.positive("connectTimeout", connectTimeout);
    return this;
  }

  /**
   * Sets how often to try again.
   *
   * @param maxRetries zero or more
   * @return this
   * @throws UsageException if it is less than zero
   */
  public CallOptions maxRetries(int maxRetries) {
    this.maxRetries = Checks.notNegative("maxRetries", maxRetries);
    return this;
  }

  /**
   * Sets a header of the request. It wins over the library's own.
   *
   * @param name the header's name
   * @param value its value
   * @return this
   * @throws UsageException if HTTP has no such name or value
   */
  public CallOptions header(String name, String value) {
    headers.put(Checks.headerName(name), Checks.headerValue(name, value));
    return this;
  }

  /**
   * Sets what a repetition of this write is known by, instead of a new UUID. Called again with the same one, nothing is
   * done again, but answered the same. Reads ignore it.
   *
   * @param idempotencyKey 1 to 255 printable characters of ASCII
   * @return this
   * @throws UsageException if no header can hold it
   */
  public CallOptions idempotencyKey(String idempotencyKey) {
    this.idempotencyKey = Checks.headerValue("Idempotency-Key", idempotencyKey);
    return this;
  }

  /**
   * Sets after how many records {@code listAll} ends; other calls ignore it. No page is fetched that this makes needless.
   *
   * @param maxRecords one or more
   * @return this
   * @throws UsageException if it is less than one
   */
  public CallOptions maxRecords(long maxRecords) {
    this.maxRecords = Checks.positive("maxRecords", maxRecords);
    return this;
  }

  /**
   * Sets how long {@code follow} waits before it asks again, when there is nothing more for now; usually a second. Other calls
   * ignore it.
   *
   * @param pollInterval more than zero
   * @return this
   * @throws UsageException if it is zero or less
   */
  public CallOptions pollInterval(Duration pollInterval) {
    this.pollInterval = Checks.positive("pollInterval", pollInterval);
    return this;
  }

  /**
   * Sets after what time without a message {@code tail} and {@code follow} give a stream up, and open it anew; usually 30 seconds.
   * Other calls ignore it.
   *
   * @param silence more than zero
   * @return this
   * @throws UsageException if it is zero or less
   */
  public CallOptions silence(Duration silence) {
    this.silence = Checks.positive("silence", silence);
    return this;
  }

  /** After how many records a walk ends. */
  static long maxRecordsOf(CallOptions options) {
    return options == null || options.maxRecords == null ? Long.MAX_VALUE : options.maxRecords;
  }

  CallOptions copy() {
    CallOptions copy = new CallOptions();
    copy.timeout = timeout;
    copy.connectTimeout = connectTimeout;
    copy.maxRetries = maxRetries;
    copy.idempotencyKey = idempotencyKey;
    copy.maxRecords = maxRecords;
    copy.pollInterval = pollInterval;
    copy.silence = silence;
    copy.headers.putAll(headers);
    return copy;
  }

  /** These options, and those of the client where these say nothing. */
  CallOptions over(CallOptions client) {
    CallOptions all = client.copy();
    if (timeout != null) all.timeout = timeout;
    if (connectTimeout != null) all.connectTimeout = connectTimeout;
    if (maxRetries != null) all.maxRetries = maxRetries;
    if (idempotencyKey != null) all.idempotencyKey = idempotencyKey;
    all.headers.putAll(headers);
    return all;
  }
}
