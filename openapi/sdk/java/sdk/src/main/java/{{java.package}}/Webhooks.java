// {{#events}}
package {{java.package}};

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import {{java.package}}.WebhookVerificationException.Fault;
import {{java.package}}.model.Event;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Takes messages of webhooks, by the <a href="https://www.standardwebhooks.com">Standard Webhooks</a> specification. */
public final class Webhooks {
  private static final String ALGORITHM = "HmacSHA256";
  private static final String PREFIX = "whsec_";
  private static final String SCHEME = "v1,";
  private static final String CHALLENGE = "webhook.challenge";
  private static final Pattern SECONDS = Pattern.compile("[0-9]{1,18}");

  private Webhooks() {}

  /**
   * Checks that a message was signed with the secret of a webhook, not more than five minutes ago, and reads it. Types of
   * messages that this library doesn't know are no error. A message comes at least once: see {@link WebhookMessage#id}.
   *
   * @param body the body of the request as it came, byte by byte
   * @param headers the headers of the request, by names in any case
   * @param secrets the secret of the webhook, which begins with {@code whsec_}, or several
   * @return the message
   * @throws WebhookVerificationException if the message cannot be trusted or read
   * @throws UsageException if there is no secret, or one that has not the form
   */
  public static WebhookMessage unwrap(byte[] body, Map<String, List<String>> headers, String... secrets) {
    return unwrap(body, headers, new WebhookOptions(secrets));
  }

  /**
   * Checks and reads a message, with another tolerance or clock.
   *
   * @param body the body of the request as it came, byte by byte
   * @param headers the headers of the request, by names in any case
   * @param options the secrets, and how to check
   * @return the message
   * @throws WebhookVerificationException if the message cannot be trusted or read
   * @throws UsageException if there is no secret, or one that has not the form
   */
  public static WebhookMessage unwrap(byte[] body, Map<String, List<String>> headers, WebhookOptions options) {
    Checks.given("headers", headers);
    return unwrap(body, name -> valueIn(headers, name), options);
  }

  /**
   * Checks and reads a message, whose headers are looked up by name: {@code request::getHeader}.
   *
   * @param body the body of the request as it came, byte by byte
   * @param header finds a header by its name in lower case; it returns null for none
   * @param secrets the secret of the webhook, which begins with {@code whsec_}, or several
   * @return the message
   * @throws WebhookVerificationException if the message cannot be trusted or read
   * @throws UsageException if there is no secret, or one that has not the form
   */
  public static WebhookMessage unwrap(byte[] body, UnaryOperator<String> header, String... secrets) {
    return unwrap(body, header, new WebhookOptions(secrets));
  }

  /**
   * Checks and reads a message, with another tolerance or clock, whose headers are looked up by name.
   *
   * @param body the body of the request as it came, byte by byte
   * @param header finds a header by its name in lower case; it returns null for none
   * @param options the secrets, and how to check
   * @return the message
   * @throws WebhookVerificationException if the message cannot be trusted or read
   * @throws UsageException if there is no secret, or one that has not the form
   */
  public static WebhookMessage unwrap(byte[] body, UnaryOperator<String> header, WebhookOptions options) {
    Checks.given("body", body);
    Checks.given("header", header);
    List<Mac> macs = Checks.given("options", options).secrets.stream().map(Webhooks::macBy).toList();
    if (macs.isEmpty()) throw new UsageException("There is no secret.");
    String id = required(header, "webhook-id");
    String timestamp = required(header, "webhook-timestamp");
    String[] signatures = required(header, "webhook-signature").split(" ");
    checkTime(timestamp, options);
    byte[] head = (id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8);
    if (macs.stream().noneMatch(mac -> isSigned(signatures, mac, head, body))) {
      String whose = macs.size() == 1 ? "the secret" : "one of the secrets";
      throw new WebhookVerificationException(Fault.SIGNATURE, "no signature is that of " + whose);
    }
    return messageIn(id, Json.parse(new String(body, StandardCharsets.UTF_8)));
  }

  private static boolean isSigned(String[] signatures, Mac mac, byte[] head, byte[] body) {
    mac.update(head);
    String wanted = SCHEME + Base64.getEncoder().encodeToString(mac.doFinal(body));
    return Stream.of(signatures).anyMatch(signature -> isSame(signature, wanted));
  }

  /** What signs by the key in a secret. */
  private static Mac macBy(String secret) {
    try {
      if (secret == null || !secret.startsWith(PREFIX)) throw new IllegalArgumentException();
      byte[] key = Base64.getDecoder().decode(secret.substring(PREFIX.length()));
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(new SecretKeySpec(key, ALGORITHM));
      return mac;
    } catch (IllegalArgumentException error) {
      // The cause would show a part of the secret.
      throw new UsageException("The secret of a webhook must be " + PREFIX + " and base64.");
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException(error);
    }
  }

  private static String valueIn(Map<String, List<String>> headers, String name) {
    // Some maps have the status line by the name null.
    Stream<String> values =
        headers.entrySet().stream()
            .filter(header -> name.equalsIgnoreCase(header.getKey()))
            .flatMap(header -> header.getValue().stream());
    return String.join(" ", values.toList());
  }

  private static String required(UnaryOperator<String> header, String name) {
    String value = header.apply(name);
    if (value != null && !value.isEmpty()) return value;
    throw new WebhookVerificationException(Fault.HEADER, "the header " + name + " lacks");
  }

  /** Refuses times that are none, or that are too far from now: an old message may be a repeated one. */
  private static void checkTime(String timestamp, WebhookOptions options) {
    if (!SECONDS.matcher(timestamp).matches()) {
      throw new WebhookVerificationException(Fault.TIMESTAMP, "the time is no number of seconds");
    }
    Duration age = Duration.ofSeconds(options.clock.now().getEpochSecond() - Long.parseLong(timestamp));
    String limit = "the message is more than " + Texts.seconds(options.tolerance);
    if (age.compareTo(options.tolerance) > 0) {
      throw new WebhookVerificationException(Fault.OLD, limit + " old");
    }
    if (age.negated().compareTo(options.tolerance) > 0) {
      throw new WebhookVerificationException(Fault.AHEAD, limit + " ahead of the clock");
    }
  }

  /** Compares in a time that doesn't depend on where the texts differ. */
  private static boolean isSame(String signature, String wanted) {
    return MessageDigest.isEqual(
        signature.getBytes(StandardCharsets.UTF_8), wanted.getBytes(StandardCharsets.UTF_8));
  }

  private static WebhookMessage messageIn(String id, JsonNode body) {
    String type = body == null ? null : body.path("type").textValue();
    OffsetDateTime timestamp = body == null ? null : timeOf(body.path("timestamp").textValue());
    if (type == null || timestamp == null) {
      throw new WebhookVerificationException(Fault.BODY, "the body is no message, although its signature is right");
    }
    JsonNode data = body.path("data");
    Optional<String> challenge =
        Optional.ofNullable(data.path("challenge").textValue()).filter(text -> type.equals(CHALLENGE));
    return new WebhookMessage(id, type, timestamp, eventIn(data), challenge);
  }

  /** Reads a time, or returns null if it is none. */
  private static OffsetDateTime timeOf(String text) {
    try {
      return text == null ? null : OffsetDateTime.parse(text);
    } catch (DateTimeException error) {
      return null;
    }
  }

  private static Optional<Event> eventIn(JsonNode data) {
    try {
      Event event = data.isObject() ? Json.read(data, Event.class) : new Event();
      boolean isWhole =
          Stream.of(event.getId(), event.getPosition(), event.getType(), event.getRecord(), event.getAt())
                  .noneMatch(member -> member == null)
              && event.getRecord().getKind() != null
              && event.getRecord().getId() != null;
      return Optional.of(event).filter(whole -> isWhole);
    } catch (JsonProcessingException error) {
      return Optional.empty();
    }
  }
}
// {{/events}}
