// {{#events}}
package {{java.package}};

import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/** How messages of webhooks are checked: {@code new WebhookOptions(secret).tolerance(Duration.ofMinutes(1))}. */
public final class WebhookOptions {
  final List<String> secrets;
  Duration tolerance = Duration.ofMinutes(5);
  GatewayClock clock = GatewayClock.SYSTEM;

  /**
   * Makes options.
   *
   * @param secrets one or several, with one of which a message must be signed: the new and the old one while you rotate it, or
   *     those of several webhooks of one endpoint
   */
  public WebhookOptions(String... secrets) {
    this.secrets = Arrays.asList(Checks.given("secrets", secrets).clone());
  }

  /**
   * Sets how far the time of a message may be from now. Usually five minutes.
   *
   * @param tolerance zero or more
   * @return this
   * @throws UsageException if it is less than zero
   */
  public WebhookOptions tolerance(Duration tolerance) {
    if (Checks.given("tolerance", tolerance).isNegative()) throw new UsageException("tolerance must be zero or more.");
    this.tolerance = tolerance;
    return this;
  }

  /**
   * Sets what tells the time. For tests.
   *
   * @param clock the clock
   * @return this
   */
  public WebhookOptions clock(GatewayClock clock) {
    this.clock = Checks.given("clock", clock);
    return this;
  }
}
// {{/events}}
