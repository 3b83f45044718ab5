package com.example.contentgateway;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

/** What tests need to make clients and to hold what comes of them. */
final class Checking {
  /** A clock by which no wait takes time. */
  static final GatewayClock QUICK =
      new GatewayClock() {
        @Override
        public Instant now() {
          return Instant.now();
        }

        @Override
        public CompletableFuture<Void> sleep(Duration wait) {
          return CompletableFuture.completedFuture(null);
        }
      };

  /** A client that knows these variables alone. */
  static ContentGateway.Builder client(String baseUrl, Map<String, String> environment) {
    var builder = ContentGateway.builder().baseUrl(baseUrl).apiKey("cgk_network").clock(QUICK);
    builder.environment = environment;
    return builder.connectTimeout(Duration.ofMillis(300)).maxRetries(0);
  }

  static GatewayException failure(ContentGateway gateway) {
    try {
      gateway.call("game.getNewest", null);
    } catch (GatewayException error) {
      return error;
    }
    throw new AssertionError("The call didn't fail.");
  }

  static String usageError(Runnable use) {
    try {
      use.run();
    } catch (UsageException error) {
      return error.getMessage();
    }
    return "no error";
  }

  static void same(Object wanted, Object found) {
    if (!Objects.equals(wanted, found)) throw new AssertionError("should be " + wanted + "\n  but is    " + found);
  }

  static void has(String text, String part) {
    if (!text.contains(part)) throw new AssertionError("should have " + part + "\n  but is      " + text);
  }

  static void lacks(String text, String part) {
    if (text.contains(part)) throw new AssertionError("should lack " + part + "\n  but is      " + text);
  }
}
