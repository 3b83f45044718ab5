import type { z } from 'zod';
import { issuesOf, MAX_ISSUES, type Operation } from '../../../contract/index.ts';
import { AppError } from '../errors.ts';
import { adviser, membersAt } from './members.ts';
import { wrapperIssue } from './wrapper.ts';

type InvalidCall = Pick<Operation, 'id' | 'route' | 'example' | 'inputOptional'>;

/** `game.getById` takes `id`. */
const takes = ({ id, route }: InvalidCall): string => {
  const names = Object.keys(membersAt(route.body, ['json'])).map((name) => `\`${name}\``);
  return names.length === 0 ? `\`${id}\` takes no parameters.` : `\`${id}\` takes ${names.join(', ')}.`;
};

/** The faults of the envelope of a call, from those of zod, each with a suggestion. */
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
