package com.example.contentgateway;

import static com.example.contentgateway.Checking.client;
import static com.example.contentgateway.Checking.failure;
import static com.example.contentgateway.Checking.has;
import static com.example.contentgateway.Checking.lacks;
import static com.example.contentgateway.Checking.same;
import static com.example.contentgateway.Checking.usageError;

import java.io.IOException;
import java.net.Proxy;
import java.net.URI;
import java.util.List;
import java.util.Map;

/**
 * Which proxies a client takes. Needs a key store with a certificate for gateway.invalid. Given {@code tunnels}, Java must send
 * passwords to open tunnels.
 */
final class Proxies {
  private static final String HTTP = "http://gateway.invalid";
  private static final String HTTPS = "https://gateway.invalid";
  private static final String BASIC = "proxy-authorization: Basic bWU6cEBzcys=";
  private static final Listener GATEWAY;
  private static final Listener SECURE;
  private static final Listener PROXY;

  static {
    try {
      GATEWAY = Listener.gateway(false);
      SECURE = Listener.gateway(true);
      PROXY = Listener.proxy(SECURE);
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  public static void main(String[] args) throws IOException {
    if (args.length > 0 && args[0].equals("tunnels")) {
      passwordsThroughTunnels();
      return;
    }
    proxies();
    exceptions();
    wrongProxies();
    refusals();
  }

  /** Calls, and returns the heads that the proxy and then the gateways have seen since. */
  private static List<String> seenBy(String baseUrl, Map<String, String> environment) {
    for (var listener : List.of(PROXY, SECURE, GATEWAY)) listener.heads.clear();
    client(baseUrl, environment).build().call("game.getNewest", null);
    return List.of(PROXY, SECURE, GATEWAY).stream().flatMap(listener -> listener.heads.stream()).toList();
  }

  private static void proxies() {
    // By http, the proxy gets the request itself; the user of its URL is decoded.
    var asked = seenBy(HTTP + "/base", Map.of("HTTP_PROXY", "http://me:p%40ss+@" + PROXY.host()));
    same(1, asked.size());
    has(asked.get(0), "POST http://gateway.invalid/base/api/trpc/game.getNewest HTTP/1.1");
    has(asked.get(0), "host: gateway.invalid");
    has(asked.get(0), BASIC);
    has(asked.get(0), "authorization: Bearer cgk_network");
    has(seenBy(HTTP, Map.of("HTTP_PROXY", "http://me@" + PROXY.host())).get(0), "proxy-authorization: Basic bWU6");

    // By https, it opens a tunnel, and sees nothing of the request.
    var tunnel = seenBy(HTTPS, Map.of("HTTPS_PROXY", "http://" + PROXY.host()));
    same(2, tunnel.size());
    has(tunnel.get(0), "CONNECT gateway.invalid:443 HTTP/1.1");
    lacks(tunnel.get(0), "cgk_network");
    has(tunnel.get(1), "POST /api/trpc/game.getNewest HTTP/1.1");

    // Names in lower case prevail, and a scheme may be left out.
    var both = Map.of("HTTP_PROXY", "http://127.0.0.1:1", "http_proxy", PROXY.host());
    has(seenBy(HTTP, both).get(0), "POST " + HTTP);
    var loopback = seenBy("http://" + GATEWAY.host(), Map.of("HTTP_PROXY", PROXY.host()));
    has(loopback.get(0), "POST /api/trpc/game.getNewest");
  }

  private static void passwordsThroughTunnels() {
    var tunnel = seenBy(HTTPS, Map.of("HTTPS_PROXY", "http://me:p%40ss+@" + PROXY.host()));
    same(2, tunnel.size());
    has(tunnel.get(0), BASIC);
    lacks(tunnel.get(1), "proxy-authorization");
  }

  /** Which addresses are reached directly. */
  private static void exceptions() {
    direct(HTTP, Map.of("HTTPS_PROXY", "proxy.invalid"));
    direct(HTTPS, Map.of("HTTP_PROXY", "proxy.invalid"));
    direct(HTTP, Map.of("HTTP_PROXY", "proxy.invalid", "http_proxy", ""));
    for (String host : List.of("127.0.0.1", "127.0.0.2:81", "localhost", "LocalHost", "[::1]", "[0:0:0:0:0:0:0:1]")) {
      direct("http://" + host, Map.of("HTTP_PROXY", "proxy.invalid"));
    }
    noProxy("*", "gateway.invalid", true);
    noProxy("gateway.invalid", "gateway.invalid", true);
    noProxy("other.invalid, GATEWAY.invalid", "Gateway.invalid", true);
    noProxy(".invalid", "gateway.invalid", true);
    noProxy("invalid", "gateway.invalid", true);
    noProxy("*.invalid", "a.gateway.invalid", true);
    noProxy("way.invalid", "gateway.invalid", false);
    noProxy("a.gateway.invalid", "gateway.invalid", false);
    noProxy("gateway.invalid:80", "gateway.invalid", true);
    noProxy("gateway.invalid:81", "gateway.invalid", false);
    noProxy("gateway.invalid:81", "gateway.invalid:81", true);
    noProxy("192.0.2.1", "192.0.2.1", true);
    noProxy("192.0.2.1", "192.0.2.11", false);
    noProxy("2001:db8::1", "[2001:db8::1]", true);
    noProxy("[2001:db8::1]:81", "[2001:db8::1]:81", true);
    noProxy("[2001:db8::1]:81", "[2001:db8::1]", false);
    noProxy("", "gateway.invalid", false);
  }

  private static void noProxy(String list, String host, boolean isDirect) {
    var environment = Map.of("HTTP_PROXY", "proxy.invalid:3128", "NO_PROXY", list);
    same(isDirect, proxiesFor("http://" + host, environment).equals(List.of(Proxy.NO_PROXY)));
  }

  private static void direct(String baseUrl, Map<String, String> environment) {
    same(List.of(Proxy.NO_PROXY), proxiesFor(baseUrl, environment));
  }

  private static List<Proxy> proxiesFor(String baseUrl, Map<String, String> environment) {
    return new EnvironmentProxies(environment).select(URI.create(baseUrl));
  }

  private static void wrongProxies() {
    for (String address : List.of("http://me:secret@proxy:port", "socks5://me:secret@proxy", "https://me:secret@proxy", "http://me:%fsecret@proxy", "a b")) {
      var refused = usageError(() -> client(HTTPS, Map.of("HTTPS_PROXY", address)).build());
      same("HTTPS_PROXY must be an http URL, such as http://proxy.example.com:3128.", refused);
    }
  }

  /** A proxy that wants a password is asked once. */
  private static void refusals() throws IOException {
    Listener strict =
        Listener.answering((head, socket) -> Listener.write(socket, "407 Proxy Authentication Required", "Who are you?"));
    String cure = ", which Java sends to open a tunnel if it is started with -Djdk.http.auth.tunneling.disabledSchemes=";
    refused("http_proxy", strict.host(), HTTP, "");
    refused("https_proxy", strict.host(), HTTPS, "");
    refused("https_proxy", "http://me:secret@" + strict.host(), HTTPS, cure);
    same(3, strict.heads.size());
  }

  private static void refused(String variable, String proxy, String baseUrl, String end) {
    var error = failure(client(baseUrl, Map.of(variable, proxy)).maxRetries(2).build());
    same(ApiConnectionException.class, error.getClass());
    String text = "game.getNewest: no reply from %s after 1 attempt: the proxy wants a user and a password (407)%s";
    same(text.formatted(baseUrl, end), error.getMessage());
  }
}
