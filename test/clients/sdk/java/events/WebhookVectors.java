import com.example.contentgateway.GatewayClock;
import com.example.contentgateway.WebhookMessage;
import com.example.contentgateway.WebhookOptions;
import com.example.contentgateway.WebhookVerificationException;
import com.example.contentgateway.Webhooks;
import com.example.contentgateway.model.Event;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Takes or refuses the messages of the file that WEBHOOK_VECTORS names, and prints what comes of each as a line of JSON. */
final class WebhookVectors {
  private static final ObjectMapper JSON = JsonMapper.builder().build();
  private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSX");
  private static final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);

  public static void main(String[] args) throws Exception {
    JsonNode messages = JSON.readTree(Path.of(System.getenv("WEBHOOK_VECTORS")).toFile());
    var clock = clockAt(Instant.parse(messages.get("now").textValue()));
    for (JsonNode vector : messages.get("vectors")) {
      ObjectNode outcome = JSON.createObjectNode().put("name", vector.get("name").textValue());
      byte[] body = vector.get("body").textValue().getBytes(StandardCharsets.UTF_8);
      Map<String, List<String>> headers = new HashMap<>();
      vector.get("headers").properties().forEach(each -> headers.put(each.getKey(), List.of(each.getValue().textValue())));
      try {
        var secrets = new ArrayList<String>();
        vector.path("secrets").forEach(secret -> secrets.add(secret.textValue()));
        if (secrets.isEmpty()) secrets.add(messages.get("secret").textValue());
        var options = new WebhookOptions(secrets.toArray(String[]::new)).clock(clock);
        if (vector.has("toleranceSeconds")) options.tolerance(Duration.ofSeconds(vector.get("toleranceSeconds").longValue()));
        outcome.set("ok", membersOf(Webhooks.unwrap(body, headers, options)));
      } catch (WebhookVerificationException refused) {
        outcome.put("error", refused.fault().name().toLowerCase(Locale.ROOT));
      }
      out.println(JSON.writeValueAsString(outcome));
    }
  }

  /** A clock that stands still. */
  private static GatewayClock clockAt(Instant now) {
    return new GatewayClock() {
      @Override
      public Instant now() {
        return now;
      }

      @Override
      public CompletableFuture<Void> sleep(Duration wait) {
        return CompletableFuture.completedFuture(null);
      }
    };
  }

  private static ObjectNode membersOf(WebhookMessage message) {
    ObjectNode members = JSON.createObjectNode().put("id", message.id()).put("type", message.type());
    members.put("timestamp", textOf(message.timestamp()));
    members.set("event", message.event().<JsonNode>map(WebhookVectors::membersOf).orElse(JSON.nullNode()));
    return members.put("challenge", message.challenge().orElse(null));
  }

  private static ObjectNode membersOf(Event event) {
    ObjectNode members = JSON.createObjectNode().put("id", event.getId()).put("position", event.getPosition());
    members.put("type", event.getType().value()).put("actorId", event.getActorId()).put("at", textOf(event.getAt()));
    members.putObject("record").put("kind", event.getRecord().getKind().value()).put("id", event.getRecord().getId());
    return members;
  }

  private static String textOf(OffsetDateTime time) {
    return TIME.format(time);
  }
}
