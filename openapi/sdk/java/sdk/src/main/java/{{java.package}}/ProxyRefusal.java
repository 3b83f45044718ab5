package {{java.package}};

import java.io.IOException;
import java.net.http.HttpResponse;

/** A proxy that wants a user and a password, and got none or others. */
final class ProxyRefusal extends IOException {
  private static final long serialVersionUID = 1L;
  private static final int STATUS = 407;
  /** Which schemes Java doesn't send a password by to open a tunnel. It is read when the first HTTP client is made. */
  private static final String DISABLED_SCHEMES = "jdk.http.auth.tunneling.disabledSchemes";

  private ProxyRefusal(String message) {
    super(message);
  }

  static boolean isOne(HttpResponse<?> reply) {
    return reply.statusCode() == STATUS;
  }

  static ProxyRefusal of(HttpResponse<?> reply) {
    boolean hasSent = reply.request().headers().firstValue("Proxy-Authorization").isPresent();
    boolean isTunnel = "https".equalsIgnoreCase(reply.uri().getScheme());
    String cure =
        hasSent && isTunnel && !"".equals(System.getProperty(DISABLED_SCHEMES))
            ? ", which Java sends to open a tunnel if it is started with -D" + DISABLED_SCHEMES + "="
            : "";
    return new ProxyRefusal("the proxy wants a user and a password (407)" + cure);
  }
}
