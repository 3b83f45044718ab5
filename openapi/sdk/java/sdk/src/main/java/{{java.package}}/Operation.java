package {{java.package}};

import java.util.List;

/**
 * An operation of the contract.
 *
 * @param id such as {@code game.create}
 * @param path where it is
 * @param writes whether it takes an {@code Idempotency-Key}
 * @param output the type of its output
 * @param members those that every output has
 */
record Operation<T>(String id, String path, boolean writes, Class<T> output, List<String> members) {
  /**
   * An operation by its id. One that this library doesn't know may write, so it is sent as a write.
   *
   * @throws UsageException if no operation can have this id
   */
  static <T> Operation<T> named(String id, Class<T> output) {
    Operation<?> known = Operations.BY_ID.get(Checks.operation(id));
    Checks.given("output", output);
    if (known == null) return new Operation<>(id, "/api/trpc/" + id, true, output, List.of());
    return new Operation<>(id, known.path, known.writes, output, known.members);
  }
}
