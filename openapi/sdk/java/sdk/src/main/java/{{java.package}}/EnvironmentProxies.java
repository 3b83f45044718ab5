package {{java.package}};

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.SocketAddress;
import java.net.URI;
import java.net.URLDecoder;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The proxies that {@code HTTP_PROXY}, {@code HTTPS_PROXY} and {@code NO_PROXY} name; names in lower case prevail. Where they name
 * none, it is as the program says by its own selector, or by system properties.
 */
final class EnvironmentProxies extends ProxySelector {
  private static final Pattern WITH_PORT = Pattern.compile("(\\[.+]|[^:]+):(\\d+)");
  private static final int HTTP_PORT = 80;
  private static final int HTTPS_PORT = 443;

  private final Map<String, String> environment;

  EnvironmentProxies(Map<String, String> environment) {
    this.environment = environment;
  }

  @Override
  public List<Proxy> select(URI uri) {
    if (isDirect(uri)) return List.of(Proxy.NO_PROXY);
    Optional<URI> proxy = proxyFor(uri);
    if (proxy.isPresent()) return List.of(new Proxy(Proxy.Type.HTTP, addressOf(proxy.get())));
    ProxySelector own = ProxySelector.getDefault();
    return own == null ? List.of(Proxy.NO_PROXY) : own.select(uri);
  }

  @Override
  public void connectFailed(URI uri, SocketAddress address, IOException failure) {
    ProxySelector own = ProxySelector.getDefault();
    if (own != null && proxyFor(uri).isEmpty()) own.connectFailed(uri, address, failure);
  }

  /**
   * Checks the proxy for an address.
   *
   * @return the value of {@code Proxy-Authorization}, if the proxy is given a user
   * @throws UsageException that names the variable, and never shows its value, which may hold a password
   */
  Optional<String> authorizationFor(URI uri) {
    if (isDirect(uri)) return Optional.empty();
    return proxyFor(uri).map(URI::getRawUserInfo).map(EnvironmentProxies::basic);
  }

  private static String basic(String userInfo) {
    String user = userInfo.contains(":") ? userInfo : userInfo + ":";
    // A plus is no space here.
    String decoded = URLDecoder.decode(user.replace("+", "%2B"), StandardCharsets.UTF_8);
    return "Basic " + Base64.getEncoder().encodeToString(decoded.getBytes(StandardCharsets.UTF_8));
  }

  private Optional<URI> proxyFor(URI uri) {
    String name = uri.getScheme().toLowerCase(Locale.ROOT) + "_proxy";
    String variable = environment.containsKey(name) ? name : name.toUpperCase(Locale.ROOT);
    String text = environment.getOrDefault(variable, "");
    if (text.isEmpty()) return Optional.empty();
    try {
      URI proxy = URI.create(text.contains("://") ? text : "http://" + text);
      if ("http".equalsIgnoreCase(proxy.getScheme()) && proxy.getHost() != null && proxy.getPort() <= 65_535) {
        if (proxy.getRawUserInfo() != null) basic(proxy.getRawUserInfo());
        return Optional.of(proxy);
      }
    } catch (IllegalArgumentException error) {
      // Its message would show the address.
    }
    throw new UsageException(variable + " must be an http URL, such as http://proxy.example.com:3128.");
  }

  private static InetSocketAddress addressOf(URI proxy) {
    int port = proxy.getPort() < 0 ? HTTP_PORT : proxy.getPort();
    return InetSocketAddress.createUnresolved(bare(proxy.getHost()), port);
  }

  private boolean isDirect(URI uri) {
    String host = bare(uri.getHost().toLowerCase(Locale.ROOT));
    int usual = "https".equalsIgnoreCase(uri.getScheme()) ? HTTPS_PORT : HTTP_PORT;
    int port = uri.getPort() < 0 ? usual : uri.getPort();
    if (isLoopback(host)) return true;
    String list = environment.getOrDefault("no_proxy", environment.getOrDefault("NO_PROXY", ""));
    for (String entry : list.toLowerCase(Locale.ROOT).split(",")) {
      if (isNamed(entry.strip(), host, port)) return true;
    }
    return false;
  }

  private static boolean isLoopback(String host) {
    if (host.equals("localhost") || host.matches("127(\\.\\d+){3}")) return true;
    try {
      // An address in figures is looked up nowhere.
      return host.contains(":") && InetAddress.getByName(host).isLoopbackAddress();
    } catch (UnknownHostException error) {
      return false;
    }
  }

  /** Whether an entry names a host: itself, or a domain above it. */
  private static boolean isNamed(String entry, String host, int port) {
    Matcher withPort = WITH_PORT.matcher(entry);
    String name = entry;
    if (withPort.matches()) {
      if (!withPort.group(2).equals(Integer.toString(port))) return false;
      name = withPort.group(1);
    }
    String domain = bare(name).replaceFirst("^\\*?\\.", "");
    if (domain.isEmpty()) return false;
    return domain.equals("*") || host.equals(domain) || host.endsWith("." + domain);
  }

  /** Without the brackets of an IPv6 address. */
  private static String bare(String host) {
    return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
  }
}
