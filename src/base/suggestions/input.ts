import type { z } from 'zod';
import { issuesOf, MAX_ISSUES, type Operation, type Reason } from '../../../contract/index.ts';
import { AppError } from '../errors.ts';
import { adviser, membersAt } from './members.ts';
import { wrapperIssue } from './wrapper.ts';

type InvalidCall = Pick<Operation, 'id' | 'route' | 'example' | 'inputOptional'>;

/** `game.getById` takes `id`. */
const takes = ({ id, route }: InvalidCall): string => {
  const names = Object.keys(membersAt(route.body, ['json'])).map((name) => `\`${name}\``);
  return names.length === 0 ? `\`${id}\` takes no parameters.` : `\`${id}\` takes ${names.join(', ')}.`;
};

/** Converts zod's faults in the envelope of a call to faults with suggestions. */
export const invalidInput = (procedure: InvalidCall, sent: unknown, found: readonly z.core.$ZodIssue[]): AppError => {
  const one = wrapperIssue(sent, procedure);
  if (one) return new AppError('VALIDATION_FAILED', { issues: [one] });
  let isLost = false;
  const advise = adviser(procedure.route.body, sent, () => {
    isLost = true;
  });
  const issues = issuesOf(found, advise);
  const hint =
    issues.length === MAX_ISSUES
      ? `Only the first ${MAX_ISSUES} faults are listed in \`issues\`.`
      : isLost
        ? takes(procedure)
        : undefined;
  return new AppError('VALIDATION_FAILED', { issues, ...(hint !== undefined && { hint }) });
};

/** Values that mean the user of the key. */
const SELF = new Set(['me', 'self', '@me', '~', 'current']);

const HEX_ID = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;

/** The id in a text with another notation: in braces, as a URN, without dashes, or in upper case. */
const idIn = (text: string): string | undefined => {
  const digits = text
    .trim()
    .toLowerCase()
    .replace(/^urn:uuid:/, '')
    .replaceAll(/[-{}()"'<>]/g, '');
  return HEX_ID.test(digits) ? digits.replace(HEX_ID, '$1-$2-$3-$4-$5') : undefined;
};

/** The text of the id in an input: its only member `id`, or a member such as `gameId`. */
const idSent = (input: unknown): string | undefined => {
  const found = Object.entries(Object(input) as object).find(([name]) => /^(?:id|\w+Id)$/.test(name))?.[1] as unknown;
  return typeof found === 'string' ? found : undefined;
};

/** The hint for a record that was not found because a text cannot be an id; undefined for the usual hint. */
export const unusableId = (reason: Reason, input: unknown): string | undefined => {
  if (!reason.endsWith('_NOT_FOUND')) return undefined;
  const sent = idSent(input);
  if (sent === undefined) return undefined;
  if (reason === 'USER_NOT_FOUND' && SELF.has(sent.trim().toLowerCase())) {
    return '`user.me` reads the user of your API key; `user.getProfile` takes an id.';
  }
  const id = idIn(sent);
  if (id === sent) return undefined;
  return id === undefined
    ? 'This is not an id of this service: ids are 32 lower-case hexadecimal digits in five groups, with dashes between them. Copy them from a reply.'
    : `Ids are written exactly as replies have them. Did you mean \`${id}\`?`;
};
