// {{#events}}
package {{java.package}};

import {{java.package}}.model.Event;
import java.time.OffsetDateTime;
import java.util.Optional;

/**
 * A message of a webhook whose signature was right.
 *
 * @param id the {@code webhook-id}, the same whenever the message is sent again: skip one that you have seen
 * @param type what the message tells of, such as {@code game.created} or {@code webhook.challenge}; new ones may be added
 * @param timestamp when that happened
 * @param event the event, absent if the message has none, or one of a form that this library doesn't know
 * @param challenge of a {@code webhook.challenge}, the text to answer as {@code {"challenge": …}}, with status 200
 */
public record WebhookMessage(
    String id, String type, OffsetDateTime timestamp, Optional<Event> event, Optional<String> challenge) {}
// {{/events}}
