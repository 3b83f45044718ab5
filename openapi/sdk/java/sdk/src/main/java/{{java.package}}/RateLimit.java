package {{java.package}};

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How the caller stands with the limit of which least is left.
 *
 * @param policy the name of the limit, such as {@code read}
 * @param remaining how much is left of it
 * @param resetSeconds after how many seconds it is whole again
 */
public record RateLimit(String policy, long remaining, long resetSeconds) {
  // "read";r=599;t=1
  private static final Pattern FIRST = Pattern.compile("\\s*\"([^\"]*)\"\\s*(;[^,]*).*");
  private static final Pattern REMAINING = Pattern.compile(";\\s*r=(\\d{1,18})");
  private static final Pattern RESET = Pattern.compile(";\\s*t=(\\d{1,18})");

  static Optional<RateLimit> parse(String header) {
    Matcher first = FIRST.matcher(header);
    if (!first.matches()) return Optional.empty();
    Matcher remaining = REMAINING.matcher(first.group(2));
    Matcher reset = RESET.matcher(first.group(2));
    if (!remaining.find() || !reset.find()) return Optional.empty();
    return Optional.of(new RateLimit(first.group(1), Long.parseLong(remaining.group(1)), Long.parseLong(reset.group(1))));
  }
}
