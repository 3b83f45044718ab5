import type { ErrorResponse, Issue } from '../../../contract/index.ts';
import { AppError } from '../../base/errors.ts';
import { meantIds } from '../../base/suggestions/procedures.ts';
import { idOf, nameOf } from './tools.ts';

// The texts of failures in the terms of tools: the tools' names, and arguments in place of an envelope.

const isTool = (id: string): boolean => idOf(nameOf({ id })) !== undefined;

const inTerms = (text: string): string =>
  text
    .replaceAll(/`(\w+\.\w+)`/g, (whole, id: string) => (isTool(id) ? `\`${nameOf({ id })}\`` : whole))
    .replace('a JSON pointer into `json`', 'a JSON pointer into the arguments');

const issueInTerms = (issue: Issue): Issue => ({ ...issue, message: inTerms(issue.message) });

/** The envelope of a failure, with its texts in the terms of tools. */
export const failureInTerms = ({ error: { json } }: ErrorResponse): ErrorResponse => {
  const { hint, issues, ...data } = json.data;
  return {
    error: {
      json: {
        ...json,
        message: inTerms(json.message),
        data: {
          ...data,
          ...(issues && { issues: issues.map(issueInTerms) }),
          ...(hint !== undefined && { hint: inTerms(hint) }),
        },
      },
    },
  };
};

/** Refuses the envelope of the HTTP API, `{"json": {…}}`, as arguments. @throws AppError VALIDATION_FAILED */
export const assertFlat = (input: unknown): void => {
  const [[name, value] = [], ...others] = Object.entries(Object(input) as object) as [string, unknown][];
  if (name !== 'json' || others.length > 0 || typeof value !== 'object') return;
  const message = 'is not an argument of this tool: pass the members of `json` as the arguments themselves';
  throw new AppError('VALIDATION_FAILED', { issues: [{ path: '/json', code: 'unrecognized_keys', message }] });
};

/** The failure for a name that no tool has, with the most likely one. */
export const unknownTool = (name: string): AppError => {
  const found = idOf(name.replaceAll('.', '_')) ? [name.replaceAll('_', '.')] : meantIds(name.replace('_', '.'));
  const tools = found.filter(isTool).map((id) => `\`${nameOf({ id })}\``);
  const others = found.map((id) => `\`${id}\``);
  const apart = others.length > 0 ? `${others.join(' or ')} is no tool: programs call it by HTTP. ` : '';
  const told = tools.length > 0 ? `Did you mean ${tools.join(' or ')}? ` : apart;
  return new AppError('PROCEDURE_NOT_FOUND', { hint: `${told}\`tools/list\` has the names of all tools.` });
};
