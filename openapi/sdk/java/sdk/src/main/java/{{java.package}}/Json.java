package {{java.package}};

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.type.LogicalType;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** How the models are read and written. What is new to this library is kept or ignored, another type is a fault. */
final class Json {
  /** What is in a reply may be as long as the reply. */
  private static final StreamReadConstraints LIMITS =
      StreamReadConstraints.builder()
          .maxStringLength(LimitedBody.LIMIT_BYTES)
          .maxNameLength(LimitedBody.LIMIT_BYTES)
          .build();

  private static final JsonMapper MAPPER =
      JsonMapper.builder(JsonFactory.builder().streamReadConstraints(LIMITS).build())
          .addModule(new JavaTimeModule())
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .disable(DeserializationFeature.ADJUST_DATES_TO_CONTEXT_TIME_ZONE)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
          .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
          .withCoercionConfig(
              LogicalType.Textual,
              texts ->
                  texts
                      .setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
                      .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
                      .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail))
          .build();

  private Json() {}

  /**
   * The members of an input, apart from it: what the caller sets later doesn't reach them.
   *
   * @throws UsageException if it is no object of JSON
   */
  static ObjectNode membersOf(Object input) {
    if (input == null) return MAPPER.createObjectNode();
    JsonNode members;
    try {
      members = MAPPER.valueToTree(input);
    } catch (IllegalArgumentException | StackOverflowError error) {
      throw new UsageException("The input cannot be written as JSON: " + error.getMessage(), error);
    }
    if (members instanceof ObjectNode object) return input == object ? object.deepCopy() : object;
    throw new UsageException("An input must be an object of JSON.");
  }

  /**
   * The body of a request.
   *
   * @throws UsageException if a text has half of a surrogate pair, for which there are no bytes
   */
  static byte[] envelopeOf(ObjectNode input) {
    String text = MAPPER.createObjectNode().set("json", input).toString();
    try {
      ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
      return Arrays.copyOf(bytes.array(), bytes.limit());
    } catch (CharacterCodingException error) {
      throw new UsageException("The input has a text with half of a surrogate pair.", error);
    }
  }

  /** Reads a text, or returns null if it isn't JSON. */
  static JsonNode parse(String text) {
    try {
      JsonNode node = MAPPER.readTree(text);
      return node.isMissingNode() ? null : node;
    } catch (JsonProcessingException error) {
      return null;
    }
  }

  static <T> T read(JsonNode node, Class<T> type) throws JsonProcessingException {
    return MAPPER.treeToValue(node, type);
  }
}
