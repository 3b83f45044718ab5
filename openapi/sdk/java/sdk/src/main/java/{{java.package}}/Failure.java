package {{java.package}};

import {{java.package}}.model.Issue;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/** What the error envelope says; all null, without issues, where there is none. The id may stand in the header alone. */
record Failure(
    String reason, String code, String message, List<Issue> issues, String hint, String docs, String requestId) {
  /**
   * @param body the reply's, null if it isn't JSON
   * @param requestId by the reply's header, or null
   * @param address of the service, to which paths are appended
   */
  static Failure of(JsonNode body, String requestId, String address) {
    JsonNode error = body == null ? null : body.at("/error/json");
    if (error == null || !error.at("/data/reason").isTextual()) {
      return new Failure(null, null, null, List.of(), null, null, requestId);
    }
    JsonNode data = error.path("data");
    return new Failure(
        text(data, "reason"),
        text(data, "code"),
        error.path("message").asText(),
        issuesOf(data.path("issues")),
        text(data, "hint"),
        absolute(text(data, "docs"), address),
        data.path("requestId").isTextual() ? text(data, "requestId") : requestId);
  }

  private static String absolute(String docs, String address) {
    return docs != null && docs.startsWith("/") ? address + docs : docs;
  }

  private static String text(JsonNode parent, String member) {
    JsonNode value = parent.path(member);
    return value.isTextual() ? value.textValue() : null;
  }

  private static List<Issue> issuesOf(JsonNode issues) {
    List<Issue> read = new ArrayList<>();
    for (JsonNode issue : issues) {
      if (!issue.path("path").isTextual() || !issue.path("message").isTextual()) continue;
      read.add(new Issue().path(text(issue, "path")).code(text(issue, "code")).message(text(issue, "message")));
    }
    return List.copyOf(read);
  }
}
