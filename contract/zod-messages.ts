/** The messages for zod's issues in this API's wording: each message reads on after the path of its value. */
import { z } from 'zod';

/** `a string`, of whatever JSON holds. */
export const kindOf = (value: unknown): string => {
  if (value === null || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
};

const wanted: Record<string, string> = {
  array: 'an array',
  boolean: 'true or false',
  int: 'a whole number',
  null: 'null',
  object: 'an object',
  record: 'an object',
};

/** `one of "day", "week", "all"` */
const oneOf = (values: readonly unknown[]): string => {
  const words = values.map((value) => JSON.stringify(value)).join(', ');
  return values.length === 1 ? words : `one of ${words}`;
};

const size = (count: number | bigint, unit: string): string => `${count} ${unit}${Number(count) === 1 ? '' : 's'}`;

/** The message for a size beyond a bound, `at most 20` for example. */
const sizeMessage = (origin: string, input: unknown, bound: string, limit: number | bigint): string => {
  if (Array.isArray(input)) return `must hold ${bound} ${size(limit, 'item')}, holds ${input.length}`;
  return origin === 'string' ? `must have ${bound} ${size(limit, 'character')}` : `must be ${bound} ${limit}`;
};

/** The message for a fault that has none of its own. It never repeats what was sent. */
const messageOf = (issue: z.core.$ZodRawIssue): string => {
  const { input } = issue;
  switch (issue.code) {
    case 'invalid_type':
      if (input === undefined) return 'is required';
      return `must be ${wanted[issue.expected] ?? `a ${issue.expected}`}, not ${kindOf(input)}`;
    case 'invalid_value':
      return input === undefined ? `is required: ${oneOf(issue.values)}` : `must be ${oneOf(issue.values)}`;
    case 'too_big':
      return sizeMessage(issue.origin, input, issue.inclusive === false ? 'less than' : 'at most', issue.maximum);
    case 'too_small':
      return sizeMessage(issue.origin, input, issue.inclusive === false ? 'more than' : 'at least', issue.minimum);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return issue.format === 'regex' ? `must match ${issue.pattern}` : `must be of the format ${issue.format}`;
    case 'unrecognized_keys':
      return 'must not hold unknown members';
    case 'invalid_key':
      return 'must not hold a member of this name';
    case 'invalid_union':
    case 'invalid_element':
    case 'custom':
    default:
      return 'must be of another form';
  }
};

z.config({ localeError: messageOf });
