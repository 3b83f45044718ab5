package com.example.contentgateway;

import java.net.http.HttpClient;
import java.time.Duration;

/**
 * The content gateway. Each method takes the parameters of a procedure and returns its output; a failure that the
 * service answered is a {@link GatewayException}, a missing reply an {@link java.io.UncheckedIOException}.
 */
public final class ContentGateway {
  private final GameProcedures game;
  private final ImageProcedures image;
  private final UserProcedures user;

  /**
   * Calls public procedures only.
   *
   * @param baseUrl where the service is, such as {@code https://content.example.com}
   */
  public ContentGateway(String baseUrl) {
    this(baseUrl, null);
  }

  /**
   * @param baseUrl where the service is, such as {@code https://content.example.com}
   * @param apiKey an API key
   */
  public ContentGateway(String baseUrl, String apiKey) {
    this(baseUrl, apiKey, HttpClient.newHttpClient(), Duration.ofSeconds(30));
  }

  /**
   * @param baseUrl where the service is, such as {@code https://content.example.com}
   * @param apiKey an API key, or null to call public procedures only
   * @param client sends the requests
   * @param timeout after which time without a reply to give up
   */
  public ContentGateway(String baseUrl, String apiKey, HttpClient client, Duration timeout) {
    Transport transport = new Transport(baseUrl, apiKey, client, timeout);
    game = new GameProcedures(transport);
    image = new ImageProcedures(transport);
    user = new UserProcedures(transport);
  }

  /** Publish, list, read and favor games, and react to them. */
  public GameProcedures game() {
    return game;
  }

  /** Publish, list, read, change and favor image posts, and react to them. */
  public ImageProcedures image() {
    return image;
  }

  /** Read and search users, and change one's own profile. */
  public UserProcedures user() {
    return user;
  }
}
