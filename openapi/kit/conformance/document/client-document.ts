import { valueAt } from '../values.ts';
import { DOCUMENT } from '../http/base.ts';
import { meaningOf, type RawSchema, REFERENCE, resolved } from './schema.ts';

type Members = Readonly<Record<string, unknown>>;

/** The status and the code of a failure. */
interface Failure {
  status: string;
  code: unknown;
}

/** An operation of a document, or a message that the service sends. */
export interface DocumentedOperation {
  id: string;
  path: string;
  /** The schema of the request, if any. */
  input: RawSchema | undefined;
  /** The schemas of replies, by their status. */
  replies: ReadonlyMap<string, RawSchema>;
  /** Its failures by their reasons: each reason has an example. */
  reasons: ReadonlyMap<string, Failure>;
  /** Whether a caller needs a key. */
  needsKey: boolean;
  /** The operation as written, with the other members of its path, and the parameters and the security that apply. */
  written: Members;
}

/** An OpenAPI document, in version 3.0 or 3.1. */
export interface ClientDocument {
  /** Its name in reports. */
  name: string;
  document: object;
  /** The operations by their ids. */
  operations: ReadonlyMap<string, DocumentedOperation>;
  /** The messages to webhooks, sent by operations and by the service itself, by their ids. */
  messages: ReadonlyMap<string, DocumentedOperation>;
}

/** The error for a text that is not a document. The message says why. */
export class DocumentError extends Error {}

const METHOD = 'post';
const JSON_CONTENT = ['content', 'application/json', 'schema'];

const schemaIn = (holder: unknown): RawSchema | undefined => valueAt(holder, JSON_CONTENT) as RawSchema | undefined;

/** The examples of failures are named after their reasons; those of successes are not. */
const REASON = /^[A-Z][A-Z_]+$/;

export const membersOf = (value: unknown): [string, unknown][] => Object.entries(Object(value) as Members);

const reasonsIn = ([status, reply]: [string, unknown]): [string, Failure][] =>
  membersOf(valueAt(reply, ['content', 'application/json', 'examples']))
    .filter(([name]) => REASON.test(name))
    .map(([name, example]) => [name, { status, code: valueAt(example, ['value', 'error', 'json', 'code']) }]);

/** The operations of some paths, or the messages by their names. */
const operationsIn = (document: object, paths: unknown): Map<string, DocumentedOperation> => {
  const operations = membersOf(paths).flatMap(([path, item]): DocumentedOperation[] => {
    const operation = valueAt(item, [METHOD]) as Members | undefined;
    if (operation === undefined) return [];
    const { [METHOD]: _, ...beside } = item as Members;
    const security = (operation['security'] ?? valueAt(document, ['security']) ?? []) as object[];
    const responses = membersOf(operation['responses']);
    const replies = responses.flatMap(([status, reply]) => {
      const schema = schemaIn(reply);
      return schema ? [[status, schema] as const] : [];
    });
    const parameters = [item, operation].flatMap((holder) => (valueAt(holder, ['parameters']) ?? []) as unknown[]);
    return [
      {
        id: (operation['operationId'] as string | undefined) ?? path,
        path,
        input: schemaIn(operation['requestBody']),
        replies: new Map(replies),
        reasons: new Map(responses.flatMap(reasonsIn)),
        needsKey: security.length > 0 && security.every((one) => Object.keys(one).length > 0),
        written: { ...beside, ...operation, security, parameters },
      },
    ];
  });
  return new Map(operations.map((operation) => [operation.id, operation]));
};

/** The operations of a document. */
export const documented = (name: string, document: object): ClientDocument => {
  const operations = operationsIn(document, valueAt(document, ['paths']));
  const called = [...operations.values()].flatMap(({ written }) => membersOf(written['callbacks']));
  return {
    name,
    document,
    operations,
    messages: new Map([
      ...operationsIn(document, valueAt(document, ['webhooks'])),
      ...called.flatMap(([, paths]) => [...operationsIn(document, paths)]),
    ]),
  };
};

/** The parameters of an operation, by their kinds and names. */
export const parametersOf = ({ document }: ClientDocument, { written }: DocumentedOperation): Map<string, unknown> =>
  new Map(
    (written['parameters'] as unknown[]).map((one) => {
      const parameter = resolved(document, one);
      const [kind, name] = [valueAt(parameter, ['in']), String(valueAt(parameter, ['name']))];
      return [`${String(kind)} ${kind === 'header' ? name.toLowerCase() : name}`, parameter];
    }),
  );

/** The headers of a reply, by their names. */
export const headersOf = (document: object, reply: unknown): Map<string, unknown> =>
  new Map(
    membersOf(valueAt(reply, ['headers'])).map(([name, header]) => [name.toLowerCase(), resolved(document, header)]),
  );

/** OpenAPI 3.0 states the scopes of an operation in an extension. */
export const SCOPES_IN_3_0 = 'x-required-scopes';

/** The schemes that a caller may use, by their meaning, with the scopes of each. Each set suffices. */
export type Security = ReadonlyMap<string, readonly unknown[]>[];

export const securityOf = ({ document }: ClientDocument, { written }: DocumentedOperation): Security => {
  const schemeOf = (name: string): string =>
    meaningOf(document, valueAt(document, ['components', 'securitySchemes', name]));
  return (written['security'] as object[]).map(
    (one) =>
      new Map(membersOf(one).map(([name, scopes]) => [schemeOf(name), [written[SCOPES_IN_3_0] ?? scopes].flat()])),
  );
};

/** Reads a document from JSON, with or without a byte order mark. @throws DocumentError */
export const parseDocument = (name: string, text: string): ClientDocument => {
  let document: unknown;
  try {
    document = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw new DocumentError(`${name} is no JSON: take an OpenAPI document such as the one at ${DOCUMENT}.`);
  }
  const version = valueAt(document, ['openapi']);
  if (typeof version !== 'string' || !/^3\.[01]\./.test(version)) {
    throw new DocumentError(`${name} is no OpenAPI document of version 3.0 or 3.1.`);
  }
  const read = documented(name, document as object);
  if (read.operations.size === 0) throw new DocumentError(`${name} describes no operation that is called by POST.`);
  return read;
};

/** A schema of a document, and the schemas that it refers to, as current JSON Schema. */
export const jsonSchemaOf = (document: unknown, schema: RawSchema): RawSchema => {
  const modern = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(modern);
    if (typeof value !== 'object' || value === null) return value;
    const { nullable, $ref, example: _, ...rest } = value as Record<string, unknown>;
    const members = Object.fromEntries(Object.entries(rest).map(([name, member]) => [name, modern(member)]));
    if (typeof $ref === 'string') return { ...members, $ref: $ref.replace(REFERENCE, '#/$defs/') };
    return nullable === true ? { anyOf: [members, { type: 'null' }] } : members;
  };
  return { ...(modern(schema) as object), $defs: modern(valueAt(document, ['components', 'schemas']) ?? {}) };
};
