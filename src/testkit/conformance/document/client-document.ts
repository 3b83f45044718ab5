import { valueAt } from '../values.ts';
import { DOCUMENT } from '../http/base.ts';
import type { RawSchema } from './schema.ts';

/** An operation of a document. */
export interface DocumentedOperation {
  id: string;
  path: string;
  /** The schema of the request, if it has one. */
  input: RawSchema | undefined;
  /** The schemas of replies, by their status. */
  replies: ReadonlyMap<string, RawSchema>;
  /** The reasons of its failures: each has an example. */
  reasons: ReadonlySet<string>;
  /** Whether a caller needs a key. */
  needsKey: boolean;
}

/** An OpenAPI document, in version 3.0 or 3.1. */
export interface ClientDocument {
  /** Its name in reports. */
  name: string;
  document: object;
  /** By their ids. */
  operations: ReadonlyMap<string, DocumentedOperation>;
}

/** A text that is no document. The message says why. */
export class DocumentError extends Error {}

const METHOD = 'post';
const JSON_CONTENT = ['content', 'application/json', 'schema'];

const schemaIn = (holder: unknown): RawSchema | undefined => valueAt(holder, JSON_CONTENT) as RawSchema | undefined;

/** The examples of failures are named after their reasons; those of successes are not. */
const REASON = /^[A-Z][A-Z_]+$/;

const membersOf = (value: unknown): [string, unknown][] => Object.entries(Object(value) as Record<string, unknown>);

const reasonsIn = (reply: unknown): string[] =>
  membersOf(valueAt(reply, ['content', 'application/json', 'examples']))
    .map(([name]) => name)
    .filter((name) => REASON.test(name));

/** The operations of a document. */
export const documented = (name: string, document: object): ClientDocument => {
  const security = valueAt(document, ['security']);
  const operations = membersOf(valueAt(document, ['paths'])).flatMap(([path, item]): DocumentedOperation[] => {
    const operation = valueAt(item, [METHOD]);
    if (operation === undefined) return [];
    const demanded = (valueAt(operation, ['security']) ?? security ?? []) as object[];
    const replies = membersOf(valueAt(operation, ['responses'])).flatMap(([status, reply]) => {
      const schema = schemaIn(reply);
      return schema ? [[status, schema] as const] : [];
    });
    return [
      {
        id: (valueAt(operation, ['operationId']) as string | undefined) ?? path,
        path,
        input: schemaIn(valueAt(operation, ['requestBody'])),
        replies: new Map(replies),
        reasons: new Set(membersOf(valueAt(operation, ['responses'])).flatMap(([, reply]) => reasonsIn(reply))),
        needsKey: demanded.length > 0 && demanded.every((one) => Object.keys(one).length > 0),
      },
    ];
  });
  return { name, document, operations: new Map(operations.map((operation) => [operation.id, operation])) };
};

/** Reads a document from JSON. @throws DocumentError */
export const parseDocument = (name: string, text: string): ClientDocument => {
  let document: unknown;
  try {
    document = JSON.parse(text);
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
