import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

interface Content {
  content: { 'application/json': { schema: { $ref: string } } };
}

interface Operation {
  operationId: string;
  requestBody: Content;
  responses: Record<string, Content>;
}

const document = JSON.parse(readFileSync('openapi/openapi.json', 'utf8')) as {
  paths: Record<string, { post: Operation }>;
  components: object;
};
const operations = new Map(Object.values(document.paths).map(({ post }) => [post.operationId, post]));

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema({ $id: 'document', components: document.components });

const ERROR = '#/components/schemas/ErrorResponse';

const validatorOf = (ref: string) => {
  const validate = ajv.getSchema(`document${ref}`);
  if (!validate) throw new Error(`the document has no ${ref}`);
  return validate;
};

/** Whether the published document allows an input, as it would go on the wire. */
export const isPublishedInput = (procedure: string, json: unknown): boolean => {
  const operation = operations.get(procedure);
  if (!operation) throw new Error(`the document has no ${procedure}`);
  const validate = validatorOf(operation.requestBody.content['application/json'].schema.$ref);
  return validate(JSON.parse(JSON.stringify({ json }))) === true;
};

/**
 * Holds a reply against the published document: its status must be one the operation declares, and its body must fit
 * the schema of that status. Failures that no operation declares need only be the error envelope.
 * @throws Error that names each difference
 */
export const checkReply = (procedure: string, status: number, body: unknown): void => {
  const operation = operations.get(procedure);
  const declared = operation?.responses[status];
  const undeclaredIsFine = !operation || status === 405;
  if (!declared && !undeclaredIsFine) throw new Error(`${procedure} does not declare the status ${status}`);
  const ref = declared?.content['application/json'].schema.$ref ?? ERROR;
  const validate = validatorOf(ref);
  if (!validate(body)) {
    throw new Error(`${procedure} ${status} is not as the document says: ${ajv.errorsText(validate.errors)}`);
  }
};
