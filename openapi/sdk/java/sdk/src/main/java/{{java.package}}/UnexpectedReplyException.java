package {{java.package}};

import java.net.http.HttpHeaders;
import java.util.Optional;

/** A reply that is not of {{service}}: the base URL is wrong, or something stands before the service. */
public final class UnexpectedReplyException extends GatewayException {
  private static final long serialVersionUID = 1L;

  /** The HTTP status. */
  private final int status;
  /** How the reply begins. */
  private final String body;
  /** Whether it broke off on its way. */
  private final boolean isCutOff;
  private final transient HttpHeaders headers;

  UnexpectedReplyException(Attempt attempt, int status, HttpHeaders headers, Body body, String fault, Throwable cause) {
    super(attempt, textOf(attempt, status, headers, fault), cause);
    this.status = status;
    this.headers = headers;
    this.body = body.beginning();
    this.isCutOff = fault.equals(JsonFaults.CUT_OFF);
  }

  /**
   * The HTTP status.
   *
   * @return the status
   */
  public int status() {
    return status;
  }

  /**
   * How the reply begins.
   *
   * @return its first 500 characters
   */
  public String body() {
    return body;
  }

  /**
   * Finds the request in the operator's log.
   *
   * @return the request's id, if the reply has one
   */
  public Optional<String> requestId() {
    return headers.firstValue("X-Request-Id");
  }

  /**
   * The headers of the reply.
   *
   * @return the headers
   */
  public HttpHeaders headers() {
    return headers;
  }

  boolean isCutOff() {
    return isCutOff;
  }

  private static String textOf(Attempt attempt, int status, HttpHeaders headers, String fault) {
    String head = "%s: %d ".formatted(attempt.operation(), status);
    Optional<String> location = headers.firstValue("Location").filter(place -> status >= 300 && status < 400);
    if (location.isPresent()) {
      return head + "to " + location.get() + ", which is not followed: give that base URL if it is right.";
    }
    String tail = Texts.tail(attempt, headers.firstValue("X-Request-Id").orElse(null));
    return head + Texts.mediaType(headers).orElse("(no content type)") + fault + "." + Texts.isItOne(attempt) + tail;
  }
}
