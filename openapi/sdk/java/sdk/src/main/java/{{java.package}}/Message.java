// {{#events}}
package {{java.package}};

/**
 * One of a stream of Server-Sent Events.
 *
 * @param event its type, empty for the usual one
 * @param data its text
 * @param id that of the last message that had one, or null
 */
record Message(String event, String data, String id) {
  private static final String FAILURE = "serialized-error";

  /** Whether it tells of a failure. */
  boolean isFailure() {
    return event.equals(FAILURE);
  }

  /** Whether it holds an event. */
  boolean isEvent() {
    return event.isEmpty();
  }
}
// {{/events}}
