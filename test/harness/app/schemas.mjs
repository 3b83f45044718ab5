// The published document and the validators of its schemas. Plain JavaScript, so that Node.js loads it once a worker of Jest, as
// shared-modules.cjs tells it to: each test file would read a megabyte and compile the schemas again.
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export const document = JSON.parse(readFileSync('openapi/openapi.json', 'utf8'));

/** What says why a reply is not as the document wants it. */
export const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema({ $id: 'document', components: document.components });

export const validatorOf = (ref) => {
  const validate = ajv.getSchema(`document${ref}`);
  if (!validate) throw new Error(`the document has no ${ref}`);
  return validate;
};
