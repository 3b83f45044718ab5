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
record Operation<T>(String id, String path, boolean writes, Class<T> output, List<String> members) {}
