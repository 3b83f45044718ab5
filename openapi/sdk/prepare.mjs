// Brings the published documents into the shape that some generators need. The wire stays the same.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { documentOf, oldestVersion } from '../released.mjs';
import { partsOf } from './parts.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
/** Whose SDKs are made, and where: the upgrade test has others. */
const published = process.env.SDK_DOCUMENTS || here('../');
const prepared = process.env.SDK_BUILD || here('../../build/sdk');

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

const limits = new Set([
  'x-default',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minimum',
  'maximum',
  'pattern',
]);

const isTyped = (value) => typeof value?.type === 'string' || Array.isArray(value?.type);

const isReference = (value) => typeof value?.$ref === 'string' || Array.isArray(value?.allOf);

/** Which members must be there together is left to the service, too: generators made unions of such rules of older documents. */
const saysWhichMembers = (rules) => rules?.every((rule) => Object.keys(rule).join() === 'required');

/** Whether `anyOf` is a reference or null, in 3.0: generators make a union of it, and know `nullable` beside it. */
const isOrNull = ({ nullable, anyOf }) => nullable === true && anyOf?.length === 2;

/** Whether the description leaves the default to the keyword, as those of the oldest documents did. */
const leavesDefaultToKeyword = (schema) => schema.default !== undefined && schema['x-default'] === undefined;

const withoutRules = ({ default: fallback, anyOf, if: _if, else: _else, ...schema }) => ({
  ...Object.fromEntries(Object.entries(schema).filter(([member]) => !limits.has(member))),
  ...(isOrNull({ ...schema, anyOf }) ? { allOf: anyOf.slice(0, 1) } : anyOf && !saysWhichMembers(anyOf) && { anyOf }),
  ...(leavesDefaultToKeyword({ ...schema, default: fallback }) && {
    description: `${schema.description}. Default: ${fallback}`,
  }),
});

/**
 * Leaves limits and defaults to the service, which lists every fault and fills in what was left out. Clients that did the
 * same would have a type of their own for each text, and send defaults that the service may have changed.
 */
const withRulesLeftToService = (schemas) =>
  JSON.parse(JSON.stringify(schemas), (_, value) =>
    isTyped(value) || isReference(value) ? withoutRules(value) : value,
  );

/** Why something is deprecated, what to use instead, and when it ends. */
const reasonOf = ({ since, sunset, use, why }) =>
  `${why} Use ${use} instead. Since ${since}${sunset === undefined ? '' : `, until ${sunset}`}.`;

/**
 * A description without the sentence on a deprecation, which SDKs have in a place of its own. The sentence is that of
 * `deprecationText`; test/clients/sdk/deprecated.mjs holds that both are the same.
 */
const withoutSentence = (description, { since, sunset, use, why }) => {
  const sentence = `Deprecated since ${since}: ${why} Use ${use} instead.${sunset === undefined ? '' : ` It ends on ${sunset}.`}`;
  const rest = [` ${sentence}`, `. ${sentence.slice(0, -1)}`, sentence.slice(0, -1)].reduce(
    (text, told) => text.replace(told, ''),
    description,
  );
  // Without one of its own, a reference is described as what it refers to.
  return rest === '' ? undefined : rest;
};

/**
 * Has the reasons of deprecated members beside their descriptions, under the name that oapi-codegen reads, and those of values by
 * these.
 */
const withReasonsApart = (schemas) =>
  JSON.parse(JSON.stringify(schemas), (key, value) => {
    if (key === 'x-deprecated-values') {
      return Object.fromEntries(Object.entries(value).map(([name, deprecation]) => [name, reasonOf(deprecation)]));
    }
    const deprecation = value?.['x-deprecated'];
    if (!deprecation) return value;
    const description = withoutSentence(value.description, deprecation);
    return { ...value, description, 'x-deprecated-reason': reasonOf(deprecation) };
  });

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

/** How the page of a list is described, for SDKs, which begin at the first. */
const PAGE_RULE = /Required without a `cursor`, ignored with one/;

/** Marks the inputs that SDKs complete. */
const LIMITED = { 'x-limited': true };

const isList = ({ properties }) => ['page', 'cursor'].every((member) => properties[member]);

/** How many records come at once, and which, is required by the service, but not of the callers of an SDK, which has defaults. */
const withOptionalLimits = (schemas) =>
  Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => {
      if (!name.endsWith('Input') || !schema.required?.includes('limit')) return [name, schema];
      const { limit, page } = schema.properties;
      const properties = {
        ...schema.properties,
        limit: { ...limit, description: `${limit.description}. Default: 20` },
        ...(isList(schema) && {
          page: {
            ...page,
            description: `${page.description.replace(PAGE_RULE, 'Ignored with a `cursor`')}. Default: 1`,
          },
        }),
      };
      const { required, ...others } = schema;
      // Documents from before there were cursors alone require a page.
      const left = required.filter((member) => member !== 'limit' && !(member === 'page' && isList(schema)));
      return [name, { ...others, properties, ...(left.length > 0 && { required: left }), ...LIMITED }];
    }),
  );

/** Without the samples, which show the SDKs themselves, and without what the caller's own endpoints get. */
const withoutExtras = ({ 'x-codeSamples': _samples, callbacks: _callbacks, ...operation }) => operation;

/** Whether it is a call that is answered with JSON. A stream of events is the runtimes' business. */
const answersOnce = (post) => post?.responses[200].content['application/json'] !== undefined;

/** A document as the generators get it. The messages of webhooks are left to what unwraps them. */
const prepare = ({ paths, tags, components, webhooks: _webhooks, ...document }) => ({
  ...document,
  paths: Object.fromEntries(
    Object.entries(paths)
      .filter(([, { post }]) => answersOnce(post))
      .map(([path, { post }]) => [path, { post: withoutExtras(withNames(post, components.schemas)) }]),
  ),
  tags: tags.filter(({ name }) => Object.values(paths).some(({ post }) => post.tags.includes(name))),
  components: {
    ...components,
    schemas: withOptionalLimits(withRulesLeftToService(withReasonsApart(inOrderOfUse(components.schemas)))),
    parameters: withRulesLeftToService(components.parameters ?? {}),
  },
});

/** The schemas that a part of the document reaches, by name. */
const reachedBy = (schemas, part, found = new Set()) => {
  for (const name of referencesOf(part)) {
    if (found.has(name)) continue;
    found.add(name);
    reachedBy(schemas, schemas[name], found);
  }
  return found;
};

/** What callers meet beside inputs and outputs: each fault of an input, in an error. */
const OF_ERRORS = ['Issue'];

/** The schemas that callers meet: inputs, outputs, and what is in these. Envelopes are the runtime's business. */
const withoutOperations = ({ paths, components: { schemas }, ...document }) => {
  const met = Object.values(paths)
    .flatMap(({ post }) => [post['x-input'], post['x-output']])
    .concat(OF_ERRORS)
    .filter(Boolean)
    .map((name) => ({ $ref: `#/components/schemas/${name}` }));
  const names = reachedBy(schemas, met);
  return {
    ...document,
    paths: {},
    components: { schemas: Object.fromEntries(Object.entries(schemas).filter(([name]) => names.has(name))) },
  };
};

/** Writes a file whole at once: several languages may be generated from it at the same time. */
const write = (name, value) => {
  const unfinished = join(prepared, `${name}.${process.pid}`);
  writeFileSync(unfinished, JSON.stringify(value, null, 2));
  renameSync(unfinished, join(prepared, name));
};

/** The item of a list that is read page by page, by `cursor`: the schema's name; undefined for other outputs. */
const itemOf = ({ properties }, input) =>
  properties?.nextCursor && input?.properties.cursor ? nameOf(properties.items.items) : undefined;

/** The item of a feed, which goes on by `after` and never ends: the schema's name; undefined for other outputs. */
const followedOf = ({ properties, required }, input) =>
  input?.properties.after && ['nextCursor', 'hasMore'].every((member) => required.includes(member))
    ? nameOf(properties.items.items)
    : undefined;

const isObject = (schemas, schema) => {
  const { type, properties, allOf = [] } = schema.$ref ? schemas[nameOf(schema)] : schema;
  return properties !== undefined || [type].flat().includes('object') || allOf.some((part) => isObject(schemas, part));
};

/** The one required member of an input, unless it is an object: callers may give its value alone. */
const bareOf = (schemas, input) => {
  const { properties, required = [] } = schemas[input] ?? {};
  return required.length === 1 && !isObject(schemas, properties[required[0]]) ? required[0] : undefined;
};

const released = JSON.parse(readFileSync(documentOf(oldestVersion), 'utf8')).components.schemas;

/** The members that an output has, also of a service of the oldest release that is supported. */
const membersOf = (schemas, output) =>
  schemas[output].required.filter((member) => released[output]?.required.includes(member) ?? true);

/**
 * What the methods of the SDKs are made of: for each operation, in the order of the document,
 * `id` (`game.getById`), `router` (`game`), `name` (`getById`), `path`, `summary`, `description`, `access` (`public` or
 * the scope that a key needs), `writes` (whether it takes an `Idempotency-Key`), `input` (the name of a schema, absent where there
 * are no parameters), `deprecated` (the reason, if it is), `bare` (the one member that the input requires, whose value may be given alone), `limited` (whether a `limit` is to be sent in any case, 20 where the caller gives none), `output` (the name of a schema), `outputMembers` (those that every output has); of lists with a cursor,
 * `item`, and of feeds, `followed` (the names of schemas).
 */
const operationsOf = ({ paths, components: { schemas } }) =>
  Object.entries(paths).map(([path, { post }]) => {
    const { operationId: id, summary, description, security, 'x-deprecated': deprecated } = post;
    const { 'x-procedure': name, 'x-input': input, 'x-output': output } = post;
    const item = itemOf(schemas[output], schemas[input]);
    const followed = followedOf(schemas[output], schemas[input]);
    const access = security.length > 1 ? 'public' : (post['x-required-scopes'] ?? security[0].ApiKey)[0];
    return {
      id,
      router: id.split('.')[0],
      name,
      path,
      summary,
      description: deprecated ? withoutSentence(description, deprecated) : description,
      ...(deprecated && { deprecated: reasonOf(deprecated) }),
      access,
      // Documents from before there was an `Idempotency-Key` don't declare it; a service that doesn't know it passes it over.
      writes: access.endsWith(':write'),
      ...(input && { input }),
      ...(schemas[input]?.['x-limited'] && { limited: true }),
      ...(bareOf(schemas, input) && { bare: bareOf(schemas, input) }),
      output,
      outputMembers: membersOf(schemas, output),
      ...(item && { item }),
      ...(followed && { followed }),
    };
  });

/**
 * Writes what the generators read to `build/sdk/`: `openapi.json` and `openapi-3.0.json`; `schemas.json` and
 * `schemas-3.0.json`, the same without operations and envelopes; `operations.json`; and `parts.json`, which parts.mjs explains.
 */
export const prepareDocuments = () => {
  mkdirSync(prepared, { recursive: true });
  for (const name of ['openapi.json', 'openapi-3.0.json']) {
    // The name of the released SDKs. Generators of others make `NewWebhook`, a constructor, of `Webhook`.
    const text = readFileSync(join(published, name), 'utf8').replaceAll('WebhookWithSecret', 'NewWebhook');
    const document = JSON.parse(text);
    const whole = prepare(document);
    write(name, whole);
    write(name.replace('openapi', 'schemas'), withoutOperations(whole));
    if (name === 'openapi.json') {
      write('operations.json', operationsOf(whole));
      write('parts.json', partsOf(document));
    }
  }
};
