import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

const JSON_TYPE = 'application/json';

/** The document as it is committed, OpenAPI 3.1. */
export const document = JSON.parse(readFileSync(new URL('../../../openapi/openapi.json', import.meta.url), 'utf8'));

/** Each operation: `id`, `path`, `isPublic`, `isStream`, `example` (a request body) and the `responses` of the document. */
export const operations = Object.entries(document.paths).map(([path, { post }]) => ({
  id: post.operationId,
  path,
  isPublic: post.security.some((scheme) => Object.keys(scheme).length === 0),
  isStream: post['x-streaming'] !== undefined,
  example: post.requestBody.content[JSON_TYPE].example,
  responses: post.responses,
}));

const ajv = new Ajv2020({ strict: false, allErrors: true }).addSchema(document, 'document');
formats.default(ajv);

const pointerTo = (...steps) =>
  steps.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** What the document has against a reply's body, in words; undefined if nothing. */
export const faultOf = ({ path, responses }, status, body) => {
  const response = responses[status];
  if (!response) return `${status} is not declared`;
  const [, component] = response.$ref?.split('#/components/responses/') ?? [];
  const [type] = Object.keys((component ? document.components.responses[component] : response).content);
  const at = component
    ? pointerTo('components', 'responses', component)
    : pointerTo('paths', path, 'post', 'responses', status);
  const validate = ajv.getSchema(`document#${encodeURI(`${at}${pointerTo('content', type, 'schema')}`)}`);
  return validate(body) ? undefined : ajv.errorsText(validate.errors);
};
