import { pointerOf } from '../../../../contract/issues.ts';
import { show } from '../findings/finding.ts';
import { valueAt } from '../values.ts';
import { byName, type Change, type Direction, NOTHING } from './change.ts';
import {
  type ClientDocument,
  type DocumentedOperation,
  headersOf,
  membersOf,
  parametersOf,
  SCOPES_IN_3_0,
  type Security,
  securityOf,
} from './client-document.ts';
import { FOR_PEOPLE, isSchema, meaningOf, type RawSchema, resolved } from './schema.ts';
import { differencesOf, type Documents, isOlder } from './schemas.ts';

/** An operation in two documents. */
interface Pair extends Documents {
  before: DocumentedOperation;
  now: DocumentedOperation;
}

type Told = Omit<Change, 'operation' | 'node'> & { node?: string };
/** The same node in two documents. */
type Both = readonly [before: unknown, now: unknown];

const OPERATION = 'the operation';
const JSON_TYPE = 'application/json';
/** Promises that earlier documents left to guides: adding one changes nothing. */
const ANNOUNCED: ReadonlySet<string> = new Set(['x-limits', 'x-order']);
/** How the document describes the messages of a stream. */
const STREAM = 'x-streaming';

const valuesAt = ([before, now]: Both, name: string): Both => [valueAt(before, [name]), valueAt(now, [name])];
const mapOf = (value: unknown): Map<string, unknown> => new Map(membersOf(value));

/** The other members of two objects that bind clients, compared as a whole: their meaning is unknown. */
const restOf = ({ client, current }: Documents, nodes: Both, compared: readonly string[], where: string): Told[] => {
  const names = new Set(nodes.flatMap((node) => membersOf(node).map(([name]) => name)));
  return [...names]
    .filter((name) => !compared.includes(name) && !FOR_PEOPLE.has(name))
    .flatMap((name): Told[] => {
      const [before, now] = valuesAt(nodes, name);
      const [a, b] = [meaningOf(client.document, before), meaningOf(current.document, now)];
      if (a === b) return [];
      const isUnsure = !(a === '' && ANNOUNCED.has(name)) && { unsure: true as const };
      return [{ where, expected: `${name} ${a || 'none'}`, came: b || 'none', breaks: false, ...isUnsure }];
    });
};

/** Compares two schemas when it is unknown which client sends or reads the values. */
const schemasAside = (pair: Pair, nodes: Both, way: Direction, where: string): Told[] => {
  const [a, b] = valuesAt(nodes, 'schema').map((schema) => (isSchema(schema) ? schema : {})) as [RawSchema, RawSchema];
  return differencesOf(pair, { schema: a, node: where }, { schema: b, node: where }, way).map(
    ({ node, expected, came, breaks, unsure }) => ({
      node,
      expected,
      came,
      where,
      breaks: false,
      ...((breaks || unsure) && { unsure: true as const }),
    }),
  );
};

const isRequired = (one: unknown): boolean => valueAt(one, ['required']) === true;

/** Differences in headers and parameters: no record tells which client sends or reads them. */
const differencesOfNamed = (
  pair: Pair,
  way: Direction,
  before: ReadonlyMap<string, unknown>,
  now: ReadonlyMap<string, unknown>,
  place: string,
): Told[] => {
  return byName(
    before,
    now,
    (name) => [{ where: place + name, expected: 'it', came: NOTHING, breaks: false, unsure: true }],
    (name, one) => {
      const isDemanded = isRequired(one) && way === 'request';
      const came = isDemanded ? 'it is required' : 'it';
      return [{ where: place + name, expected: 'no such one', came, breaks: isDemanded }];
    },
    (a, b, name) => {
      const where = place + name;
      const told = schemasAside(pair, [a, b], way, where);
      const compared = ['schema', 'name', 'in'];
      if (!isRequired(b) || way === 'request') return [...told, ...restOf(pair, [a, b], compared, where)];
      const sure = { where, expected: 'it may be missing', came: 'it is always there', breaks: false };
      return [...told, ...restOf(pair, [a, b], [...compared, 'required'], where), ...(isRequired(a) ? [] : [sure])];
    },
  );
};

/** The differences of bodies in their media types; those of JSON are compared by their schemas. */
const differencesOfContent = (pair: Pair, way: Direction, bodies: Both, where: string): Told[] => {
  const [before, now] = valuesAt(bodies, 'content').map(mapOf) as [Map<string, unknown>, Map<string, unknown>];
  return [
    ...restOf(pair, bodies, ['content', 'headers'], where),
    ...byName(
      before,
      now,
      (type) => [{ where, expected: `the media type ${type}`, came: NOTHING, breaks: true }],
      (type) => [{ where, expected: `no media type ${type}`, came: 'it', breaks: false }],
      (a, b, type) => [
        ...(type === JSON_TYPE ? [] : schemasAside(pair, [a, b], way, where)),
        ...restOf(pair, [a, b], ['schema'], where),
      ],
    ),
  ];
};

const differencesOfSecurity = ({ client, current, before, now }: Pair): Told[] => {
  const where = OPERATION;
  if (now.needsKey && !before.needsKey)
    return [{ where, expected: 'no need of a key', came: 'it needs one', breaks: true }];
  const [a, b] = [securityOf(client, before), securityOf(current, now)];
  const isEnough = (had: Security[number]): boolean =>
    b.length === 0 ||
    b.some((needed) =>
      [...needed].every(
        ([scheme, scopes]) => had.has(scheme) && scopes.every((scope) => had.get(scheme)?.includes(scope)),
      ),
    );
  const had: Security = a.length > 0 ? a : [new Map()];
  const [was, is] = [a, b].map((sets) => JSON.stringify(sets.map((set) => [...set])));
  if (had.every(isEnough) && was === is) return [];
  const [expected, came] = [a, b].map((sets) => JSON.stringify(sets.map((set) => [...set.values()].flat())));
  return [{ where, expected: `the scopes ${expected}`, came: came!, breaks: !had.every(isEnough) }];
};

const differencesOfReasons = ({ before, now }: Pair): Told[] => {
  const told = { where: OPERATION, breaks: false };
  return byName(
    before.reasons,
    now.reasons,
    (reason) => [{ ...told, expected: `the reason ${reason}`, came: NOTHING, reason }],
    (reason) => [{ ...told, expected: `no reason ${reason}`, came: 'it may come' }],
    (a, b, reason) => {
      if (a.status !== b.status)
        return [{ ...told, expected: `${reason} by status ${a.status}`, came: b.status, reason }];
      if (a.code === undefined || a.code === b.code) return [];
      return [{ ...told, expected: `${reason} with code ${show(a.code)}`, came: show(b.code), reason }];
    },
  );
};

const differencesOfReplies = (pair: Pair, way: Direction): Told[] => {
  const { client, current, before, now } = pair;
  return byName(
    mapOf(before.written['responses']),
    mapOf(now.written['responses']),
    (status) => {
      const breaks = status.startsWith('2') || status === 'default';
      return [{ where: OPERATION, expected: `the status ${status}`, came: NOTHING, breaks }];
    },
    (status) => {
      // Another success may replace the usual one; clients expect failures.
      const isOfSuccess = status.startsWith('2') && { unsure: true as const };
      return [
        { where: OPERATION, expected: `no status ${status}`, came: 'it may come', breaks: false, ...isOfSuccess },
      ];
    },
    (one, other, status) => {
      const [a, b] = [resolved(client.document, one), resolved(current.document, other)];
      const headers = [headersOf(client.document, a), headersOf(current.document, b)] as const;
      return [
        ...differencesOfBodies(pair, [before.replies.get(status), now.replies.get(status)], way, status),
        ...differencesOfContent(pair, way, [a, b], status),
        ...differencesOfNamed(pair, way, ...headers, `${status} header `),
      ];
    },
  );
};

/** Compares two JSON bodies. A failure may always lack an optional member; no client can rely on it. */
const differencesOfBodies = (
  pair: Pair,
  [a = {}, b = {}]: readonly [RawSchema | undefined, RawSchema | undefined],
  way: Direction,
  where: string,
): Told[] => {
  const placed = (schema: RawSchema, { id }: DocumentedOperation) => ({ schema, node: `${id} ${where}` });
  const isOfFailure = /^[45]/.test(where);
  return differencesOf(pair, placed(a, pair.before), placed(b, pair.now), way).map(({ path, isOptional, ...told }) => ({
    ...told,
    ...(isOptional && isOfFailure && { breaks: false }),
    where: `${where} ${pointerOf(path)}`,
  }));
};

const BODIES = ['requestBody', 'responses', 'callbacks'];
const COMPARED_OF_OPERATIONS = [
  'operationId',
  'parameters',
  'security',
  'deprecated',
  SCOPES_IN_3_0,
  STREAM,
  ...BODIES,
];

const compareOperations = (pair: Pair, isMessage: boolean): Change[] => {
  const { client, current, before, now } = pair;
  const [sent, got]: readonly [Direction, Direction] = isMessage ? ['reply', 'request'] : ['request', 'reply'];
  const written = [before.written, now.written] as const;
  const callbacks = valuesAt(written, 'callbacks');
  const streams = valuesAt(written, STREAM);
  const parameters = [parametersOf(client, before), parametersOf(current, now)] as const;
  const [was, is] = valuesAt(written, 'deprecated').map((one) => show(one ?? false)) as [string, string];
  const where = OPERATION;
  const told: Told[] = [
    ...(before.path === now.path ? [] : [{ where, expected: before.path, came: now.path, breaks: true }]),
    ...differencesOfSecurity(pair),
    ...differencesOfBodies(pair, [before.input, now.input], sent, 'the request'),
    ...differencesOfContent(pair, sent, valuesAt(written, 'requestBody'), 'the request'),
    ...differencesOfNamed(pair, sent, ...parameters, 'the request, '),
    ...differencesOfReplies(pair, got),
    ...differencesOfReasons(pair),
    ...['message', 'error'].flatMap((name) =>
      differencesOfBodies(pair, valuesAt(streams, name) as [RawSchema, RawSchema], got, `each ${name}`),
    ),
    ...restOf(pair, streams, ['message', 'error'], 'the stream'),
    ...restOf(pair, written, COMPARED_OF_OPERATIONS, where),
    ...restOf(pair, callbacks, heldIn(...callbacks), 'the callbacks'),
    ...(was === is ? [] : [{ where, expected: `deprecated ${was}`, came: is, breaks: false }]),
  ];
  return told.map((one) => {
    const [status] = /^[45]\d\d/.exec(one.where) ?? [];
    const failures = [...before.reasons].filter(([, failure]) => failure.status === status).map(([reason]) => reason);
    return {
      operation: before.id,
      node: `${before.id} ${one.where}`,
      ...(status !== undefined && { failures }),
      ...one,
    };
  });
};

const wholeOf = (id: string) => ({ operation: id, where: OPERATION, node: id });

const compareAll = (
  documents: Documents,
  all: ReadonlyMap<string, DocumentedOperation>,
  others: ReadonlyMap<string, DocumentedOperation>,
  isMessage: boolean,
): Change[] => {
  const noun = isMessage ? 'message' : 'operation';
  return byName<DocumentedOperation, Change>(
    all,
    others,
    (id) => [{ ...wholeOf(id), expected: `the ${noun}`, came: NOTHING, breaks: true }],
    (id) => [{ ...wholeOf(id), expected: `no such ${noun}`, came: 'it is there', breaks: false }],
    (before, now) => compareOperations({ ...documents, before, now }, isMessage),
  );
};

/** The operation of a change that belongs to none. */
export const DOCUMENT_ITSELF = 'the document';

/** The members of a document that the comparison of operations reads, and those about the document itself. */
const COMPARED = ['openapi', 'info', 'servers', 'security', 'paths', 'webhooks', 'components'];
const COMPONENTS = ['schemas', 'parameters', 'headers', 'responses', 'examples', 'securitySchemes'];

/** The names of members that each describe something further. */
const heldIn = (...values: unknown[]): string[] =>
  values.flatMap((value) => membersOf(value).flatMap(([name, one]) => (isSchema(one) ? [name] : [])));

/** The meaning of the whole document in any order of members, apart from the members about the document itself. */
const meaningOfAll = ({ document }: ClientDocument): string =>
  meaningOf({}, { ...document, openapi: '', info: '', servers: '' });

/** The differences of the current document from a client's. */
export const changesFor = (client: ClientDocument, current: ClientDocument): Change[] => {
  const documents = { client, current, known: { request: new Map(), reply: new Map() } } satisfies Documents;
  const whole = [client.document, current.document] as const;
  const called = [...client.operations.values(), ...current.operations.values()].map(({ path }) => path);
  const webhooks = valuesAt(whole, 'webhooks');
  const rest = [
    ...restOf(documents, whole, COMPARED, DOCUMENT_ITSELF),
    ...restOf(documents, valuesAt(whole, 'paths'), called, 'the paths'),
    ...restOf(documents, webhooks, heldIn(...webhooks), 'the webhooks'),
    ...restOf(documents, valuesAt(whole, 'components'), COMPONENTS, 'the components'),
  ];
  const changes = [
    ...rest.map((one) => ({ operation: DOCUMENT_ITSELF, node: one.where, ...one })),
    ...compareAll(documents, client.operations, current.operations, false),
    ...(isOlder(documents) ? [] : compareAll(documents, client.messages, current.messages, true)),
  ];
  if (changes.length > 0 || isOlder(documents) || meaningOfAll(client) === meaningOfAll(current)) return changes;
  const told = { expected: 'it as it was written', came: 'written otherwise, with the same meaning', breaks: false };
  return [{ operation: DOCUMENT_ITSELF, where: DOCUMENT_ITSELF, node: DOCUMENT_ITSELF, ...told }];
};
