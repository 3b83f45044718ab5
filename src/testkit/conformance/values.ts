type Members = Record<string, unknown>;

const isMembers = (value: unknown): value is Members => typeof value === 'object' && value !== null;

/** The value at a path, or undefined. */
export const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (holder, member) => (isMembers(holder) && Object.hasOwn(holder, member) ? holder[String(member)] : undefined),
    value,
  );
