package {{java.package}};

/**
 * Which attempt at which call.
 *
 * @param operation such as {@code game.create}
 * @param origin of the service, {@code http://host:port}
 * @param address of the service, with the path of its base URL
 * @param hasKey whether it is sent with a key
 * @param number from 1
 * @param idempotencyKey null on reads
 */
record Attempt(String operation, String origin, String address, boolean hasKey, int number, String idempotencyKey) {
  /** {@code 1 attempt}, {@code 3 attempts}. */
  String count() {
    return number == 1 ? "1 attempt" : number + " attempts";
  }
}
