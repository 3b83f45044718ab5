package {{java.package}};

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import java.time.OffsetDateTime;
import java.util.Collection;
import java.util.Map;

/** What is wrong with JSON, as the end of a sentence that begins with its media type. */
final class JsonFaults {
  /** Of JSON that lacks its end. */
  static final String CUT_OFF = " whose JSON is cut off";

  private static final int LEVELS = 100;
  private static final int MOST_CHARACTERS = 200;
  private static final Map<Class<?>, String> NOUNS =
      Map.of(
          String.class, "a string",
          Integer.class, "an integer",
          Long.class, "an integer",
          Boolean.class, "a boolean",
          OffsetDateTime.class, "a time");

  private JsonFaults() {}

  /** Of a body without the gateway's envelope. */
  static String of(Body body, boolean isReadable) {
    if (body.isBlank()) return " with an empty body";
    Brackets brackets = Brackets.of(body.bytes());
    if (brackets.levels() > LEVELS) return " whose JSON is nested too deeply";
    if (isReadable) return " without the gateway's envelope";
    return brackets.isOpen() ? CUT_OFF : " whose JSON is not valid";
  }

  /** Of an output with a member of another type. */
  static String of(JsonProcessingException error) {
    String fault =
        error instanceof MismatchedInputException mismatch && mismatch.getTargetType() != null
            ? "is not " + nounOf(mismatch.getTargetType())
            : error.getOriginalMessage().replaceAll("\\s+", " ");
    String path = error instanceof JsonMappingException mapping ? pathOf(mapping) + " " : "";
    String text = path + fault;
    return " whose output is not readable: " + text.substring(0, Math.min(MOST_CHARACTERS, text.length()));
  }

  private static String nounOf(Class<?> type) {
    if (Collection.class.isAssignableFrom(type)) return "an array";
    if (Map.class.isAssignableFrom(type)) return "an object";
    return NOUNS.getOrDefault(type, "of the type " + type.getSimpleName());
  }

  /** {@code items[0].viewCount}. */
  private static String pathOf(JsonMappingException error) {
    StringBuilder path = new StringBuilder();
    for (JsonMappingException.Reference part : error.getPath()) {
      if (part.getFieldName() == null) path.append('[').append(part.getIndex()).append(']');
      else path.append(path.isEmpty() ? "" : ".").append(part.getFieldName());
    }
    return path.toString();
  }

  /**
   * The brackets of a JSON text.
   *
   * @param levels how deep they are nested
   * @param isOpen whether the text ends within one, or within a string
   */
  private record Brackets(int levels, boolean isOpen) {
    static Brackets of(byte[] text) {
      int level = 0;
      int levels = 0;
      boolean isInString = false;
      for (int at = 0; at < text.length; at++) {
        byte one = text[at];
        if (isInString && one == '\\') at++;
        else if (one == '"') isInString = !isInString;
        else if (isInString) continue;
        else if (one == '{' || one == '[') level++;
        else if (one == '}' || one == ']') level--;
        levels = Math.max(levels, level);
      }
      return new Brackets(levels, isInString || level > 0);
    }
  }
}
