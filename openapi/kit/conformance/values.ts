type Members = Record<string, unknown>;

const isMembers = (value: unknown): value is Members => typeof value === 'object' && value !== null;

/** The value at a path, or undefined. */
export const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (holder, member) => (isMembers(holder) && Object.hasOwn(holder, member) ? holder[String(member)] : undefined),
    value,
  );

/** A member of the payload of a failure, such as its `reason`. */
export const failureMember = (json: unknown, member: 'reason' | 'requestId' | 'docs' | 'httpStatus'): unknown =>
  valueAt(json, ['error', 'json', 'data', member]);

/** The named members of an object. */
export const pick = (from: object, names: readonly string[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));

/** A text with its ASCII letters in capitals. */
export const capitals = (text: string): string => text.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase());
