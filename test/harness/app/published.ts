import { docsOf, type ErrorResponse, type Reason } from '../../../contract/index.ts';
import { ajv, document, validatorOf } from './schemas.mjs';

/** A reply; the names of its headers are in lower case. */
export interface PublishedReply {
  status: number;
  headers: Readonly<Record<string, unknown>>;
  body: unknown;
}

const operations = new Map(Object.values(document.paths).map(({ post }) => [post.operationId, post]));

const ERROR = '#/components/schemas/ErrorResponse';
/** What is no operation's: the document describes POST, of single calls, in requests that are well-formed HTTP. */
const UNDOCUMENTED = new Set([
  'METHOD_NOT_SUPPORTED',
  'BAD_HTTP_REQUEST',
  'HEADERS_TOO_LARGE',
  'REQUEST_TIMEOUT',
  'PROCEDURE_NOT_FOUND',
  'ANSWER_TOO_LARGE',
]);

/** Whether the published document allows an input, as it would go on the wire. */
export const isPublishedInput = (procedure: string, json: unknown): boolean => {
  const operation = operations.get(procedure);
  if (!operation) throw new Error(`the document has no ${procedure}`);
  const validate = validatorOf(operation.requestBody.content['application/json'].schema.$ref);
  return validate(JSON.parse(JSON.stringify({ json })));
};

/** Why a reply failed, if it did. */
export const reasonOf = (body: unknown): string | undefined => {
  const { error } = (body ?? {}) as Partial<ErrorResponse>;
  return error?.json?.data?.reason;
};

const expectFit = (what: string, ref: string, body: unknown): void => {
  const validate = validatorOf(ref);
  if (!validate(body)) throw new Error(`${what} is not as the document says: ${ajv.errorsText(validate.errors)}`);
};

/** Every failure tells where its reason is explained. */
const expectDocs = (what: string, body: unknown): void => {
  const { reason, docs } = ((body ?? {}) as Partial<ErrorResponse>).error?.json?.data ?? {};
  if (reason !== undefined && docs?.endsWith(docsOf(reason as Reason)) !== true) {
    throw new Error(`${what} has the docs ${docs}`);
  }
};

/**
 * Holds a reply against the published document: the operation must declare its status and, for that status, its reason;
 * its body must fit the schema, and the headers that it requires must be there. What no operation declares need only be the envelope of
 * all failures.
 * @throws Error that names each difference
 */
export const checkReply = (procedure: string, { status, headers, body }: PublishedReply): void => {
  const reason = reasonOf(body);
  const what = `${procedure} ${status} ${reason ?? ''}`.trim();
  expectDocs(what, body);
  if (reason !== undefined && UNDOCUMENTED.has(reason)) {
    expectFit(what, ERROR, body);
    return;
  }
  const declared = operations.get(procedure)?.responses[status];
  if (!declared) throw new Error(`${what}: the document does not declare this status`);
  const { schema, examples = {} } = declared.content['application/json'];
  expectFit(what, schema.$ref, body);
  if (reason !== undefined && !(reason in examples)) {
    throw new Error(`${what}: the document does not declare this reason`);
  }
  const required = Object.keys(declared.headers).filter((name) => document.components.headers[name]?.required);
  const missing = required.filter((name) => headers[name.toLowerCase()] === undefined);
  if (missing.length > 0) throw new Error(`${what} lacks the headers ${missing.join(', ')}`);
};
