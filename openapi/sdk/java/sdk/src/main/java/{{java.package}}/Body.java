package {{java.package}};

import java.nio.charset.StandardCharsets;

/**
 * The body of a reply.
 *
 * @param bytes all of it, or the beginning of what can't be a gateway's
 * @param isTooLong whether it is longer than any of a gateway's
 */
record Body(byte[] bytes, boolean isTooLong) {
  private static final int CHARACTERS_SHOWN = 500;
  /** How many bytes are enough to show the beginning of a body. */
  static final int BYTES_SHOWN = 4 * CHARACTERS_SHOWN;

  /** What a proxy answers that opens no tunnel has none. */
  static final Body EMPTY = new Body(new byte[0], false);

  /** Whether there is nothing in it but white space. */
  boolean isBlank() {
    return firstByte(bytes) == 0;
  }

  /** Whether this begins like a page, and not like JSON. */
  static boolean isMarkup(byte[] bytes) {
    return firstByte(bytes) == '<';
  }

  /** The first one that isn't white space, or 0. */
  private static byte firstByte(byte[] bytes) {
    for (byte one : bytes) if (!Character.isWhitespace(one)) return one;
    return 0;
  }

  /** The whole body, decoded. */
  String text() {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** Its first 500 characters. */
  String beginning() {
    String text = new String(bytes, 0, Math.min(bytes.length, BYTES_SHOWN), StandardCharsets.UTF_8);
    int shown = Math.min(CHARACTERS_SHOWN, text.codePointCount(0, text.length()));
    return text.substring(0, text.offsetByCodePoints(0, shown));
  }
}
