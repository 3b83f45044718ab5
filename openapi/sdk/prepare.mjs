// Brings the published documents into the shape that some generators need. The wire stays the same.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

const published = new URL('../', import.meta.url);
const prepared = new URL('../../build/sdk/', import.meta.url);

const nameOf = ({ $ref }) => $ref.split('/').pop();

/** The names of the schemas that a part of the document refers to. */
const referencesOf = (part) =>
  [...JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);

/** Each schema after those it refers to: a generator that resolves in one pass sees whole ones only. */
const inOrderOfUse = (schemas) => {
  const seen = new Set();
  const ordered = {};
  const add = (name) => {
    if (seen.has(name)) return;
    seen.add(name);
    referencesOf(schemas[name]).forEach(add);
    ordered[name] = schemas[name];
  };
  Object.keys(schemas).forEach(add);
  return ordered;
};

const limits = new Set(['minLength', 'maxLength', 'minItems', 'maxItems', 'minimum', 'maximum', 'pattern']);

const isTyped = (value) => typeof value?.type === 'string' || Array.isArray(value?.type);

const isReference = (value) => typeof value?.$ref === 'string' || Array.isArray(value?.allOf);

const withoutRules = ({ default: fallback, ...schema }) => ({
  ...Object.fromEntries(Object.entries(schema).filter(([member]) => !limits.has(member))),
  ...(fallback !== undefined && { description: `${schema.description}. Default: ${fallback}` }),
});

/**
 * Leaves limits and defaults to the service, which lists every fault and fills in what was left out. Clients that did the
 * same would have a type of their own for each text, and send defaults that the service may have changed.
 */
const withRulesLeftToService = (schemas) =>
  JSON.parse(JSON.stringify(schemas), (_, value) =>
    isTyped(value) || isReference(value) ? withoutRules(value) : value,
  );

/** The schema at a path of members, through references. */
const memberOf = (schemas, schema, ...path) =>
  path.reduce((found, member) => schemas[nameOf(found)].properties[member], schema);

const contentOf = ({ content }) => content['application/json'].schema;

/**
 * Names for templates that see one operation at a time: `x-procedure`, the name within its router; `x-output` and
 * `x-input`, the schemas inside the envelopes, the latter absent where there are no parameters.
 */
const withNames = (operation, schemas) => {
  const { operationId, requestBody, responses } = operation;
  const inside = (envelope, ...path) => nameOf(memberOf(schemas, contentOf(envelope), ...path));
  return {
    ...operation,
    'x-procedure': operationId.split('.').pop(),
    'x-output': inside(responses[200], 'result', 'data', 'json'),
    ...(requestBody.required && { 'x-input': inside(requestBody, 'json') }),
  };
};

/** A document as the generators get it. */
const prepare = ({ paths, components, ...document }) => ({
  ...document,
  paths: Object.fromEntries(
    Object.entries(paths).map(([path, { post }]) => [path, { post: withNames(post, components.schemas) }]),
  ),
  components: {
    ...components,
    schemas: withRulesLeftToService(inOrderOfUse(components.schemas)),
    parameters: withRulesLeftToService(components.parameters),
  },
});

/** Writes the documents for the generators to `build/sdk/`. */
export const prepareDocuments = () => {
  mkdirSync(prepared, { recursive: true });
  for (const name of ['openapi.json', 'openapi-3.0.json']) {
    const document = JSON.parse(readFileSync(new URL(name, published), 'utf8'));
    writeFileSync(new URL(name, prepared), JSON.stringify(prepare(document), null, 2));
  }
};
