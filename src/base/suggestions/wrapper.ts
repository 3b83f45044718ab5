import { excerptOf, type Issue, type Operation } from '../../../contract/index.ts';
import { EMPTY_IN_PHP, membersAt } from './members.ts';

type WrappedCall = Pick<Operation, 'id' | 'route' | 'example' | 'inputOptional'>;
type WrappedMembers = Record<string, unknown>;

const leastInputs = new Map<string, unknown>();

/** The required part of an input. */
const leastOf = ({ route, example }: Pick<WrappedCall, 'route' | 'example'>): unknown => {
  const isInput = (json: unknown): boolean => route.body.safeParse({ json }).success;
  let least = example.input as Record<string, unknown>;
  for (const name of Object.keys(least)) {
    const { [name]: value, ...rest } = least;
    const shorter = Array.isArray(value) ? { ...least, [name]: value.slice(0, 1) } : least;
    least = isInput(rest) ? rest : shorter;
  }
  return least;
};

/** The shortest input that a procedure accepts, made from its example. */
export const leastInput = ({ id, ...procedure }: Pick<WrappedCall, 'id' | 'route' | 'example'>): unknown => {
  if (!leastInputs.has(id)) leastInputs.set(id, leastOf(procedure));
  return leastInputs.get(id);
};

/** Other APIs' names for the member that holds the parameters. */
const OTHER_WRAPPERS = new Set('input inputs params parameters data body args arguments payload'.split(' '));

const isMembers = (value: unknown): value is WrappedMembers =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isJson = (text: string): boolean => /^\s*[{[]/.test(text);

const at = (path: string, message: string): Issue => ({ path, code: 'invalid_type', message });

const wrapped = (json: unknown): string => excerptOf({ json });

/** The issue of an envelope without the member `json`. */
const withoutJson = (envelope: WrappedMembers, procedure: WrappedCall): Issue | undefined => {
  const { meta: _, ...rest } = envelope;
  const names = Object.keys(rest);
  if (names.length === 0) {
    if (procedure.inputOptional) return undefined;
    return at('', `is required: send ${wrapped(leastInput(procedure))}`);
  }
  if (procedure.inputOptional) return undefined;
  if (names.every((name) => /^\d+$/.test(name))) {
    return at('', `must be one call, ${wrapped(leastInput(procedure))}; for a batch, add \`?batch=1\` to the URL`);
  }
  const [name = ''] = names;
  if (names.length === 1 && name.toLowerCase() === 'json') {
    return at('', `must hold \`json\`, written in lower case: send ${wrapped(rest[name])}`);
  }
  if (names.length === 1 && OTHER_WRAPPERS.has(name.toLowerCase()) && isMembers(rest[name])) {
    return at('', `must hold its parameters in \`json\`, not in \`${name}\`: send ${wrapped(rest[name])}`);
  }
  return at('', `must hold its parameters in \`json\`: send ${wrapped(rest)}`);
};

/**
 * The single issue of an envelope without proper parameters, if this is its fault: further issues would misinterpret
 * its members.
 */
export const wrapperIssue = (envelope: unknown, procedure: WrappedCall): Issue | undefined => {
  const example = (): string => wrapped(leastInput(procedure));
  if (typeof envelope === 'string') {
    const holds = isJson(envelope) ? 'a string that holds JSON: encode it once, not twice' : 'a string';
    return at('', `must be an object such as ${example()}, not ${holds}`);
  }
  if (Array.isArray(envelope)) {
    const php = envelope.length === 0 ? `; ${EMPTY_IN_PHP}` : '';
    return at('', `must be an object such as ${example()}, not an array${php}`);
  }
  if (!isMembers(envelope)) return undefined;
  if (!Object.hasOwn(envelope, 'json')) return withoutJson(envelope, procedure);
  const { json } = envelope;
  if (typeof json === 'string' && isJson(json)) {
    return at('', 'must be an object, not a string that holds JSON: encode it once, not twice');
  }
  const isTwice = isMembers(json) && Object.keys(json).length === 1 && isMembers(json['json']);
  if (isTwice && !Object.hasOwn(membersAt(procedure.route.body, ['json']), 'json')) {
    const message = `is not a member of this input: wrap it in \`json\` once, ${excerptOf(json)}`;
    return { path: '/json', code: 'unrecognized_keys', message };
  }
  return undefined;
};
