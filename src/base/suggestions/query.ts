import { excerptOf, MAX_EXCERPT, type Operation } from '../../../contract/index.ts';
import { membersAt } from './members.ts';
import { leastInput } from './wrapper.ts';

type QueriedCall = Pick<Operation, 'id' | 'route' | 'example'>;

/** The most parameters of a query that are made into an example. */
const MAX_PARAMETERS = 10;
/** The most characters of an encoded input that are shown. */
const MAX_INPUT = 200;

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The members of an input from a query, each converted to the type of its schema; undefined if a conversion fails. */
const inputOf = (
  query: Readonly<Record<string, unknown>>,
  { route }: QueriedCall,
): Record<string, unknown> | undefined => {
  const members = membersAt(route.body, ['json']);
  const input: Record<string, unknown> = {};
  const entries = Object.entries(query);
  if (entries.length > MAX_PARAMETERS) return undefined;
  for (const [name, value] of entries) {
    if (!Object.hasOwn(members, name) || typeof value !== 'string' || value.length > MAX_EXCERPT) return undefined;
    input[name] = [value, parsed(value), [value]].find((tried) => isMember(route, { ...input, [name]: tried }, name));
    if (input[name] === undefined) return undefined;
  }
  return entries.length === 0 ? undefined : input;
};

/** Whether a member of an input is valid, regardless of the others. */
const isMember = ({ body }: QueriedCall['route'], json: object, name: string): boolean =>
  !body.safeParse({ json }).error?.issues.some(({ path }) => path[1] === name);

/**
 * A hint for a call without parameters on where they belong; `query` holds the unknown parameters of its URL. It shows
 * a short input in the correct form.
 */
export const parametersHint = (
  method: string,
  query: Readonly<Record<string, unknown>>,
  procedure: QueriedCall,
): string | undefined => {
  const meant = inputOf(query, procedure);
  const text = excerptOf({ json: meant ?? leastInput(procedure) });
  const isShown = parsed(text) !== undefined;
  if (method === 'POST') {
    if (Object.keys(query).length === 0) return undefined;
    return `A POST takes its parameters in the body, not in the URL${isShown ? `: ${text}` : ''}.`;
  }
  const url = `/api/trpc/${procedure.id}?input=`;
  const input = encodeURIComponent(text);
  const address = isShown && input.length <= MAX_INPUT ? `\`${url}${input}\`` : `\`${url}…\``;
  return `A GET takes its parameters as URL-encoded JSON: ${address}. Or send {"json": {…}} by POST.`;
};
