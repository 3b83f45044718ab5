// node schemas.mjs: writes schemas-go.json into SDK_BUILD, the schemas with what makes of them types such as one writes in Go.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exportedName } from './names.mjs';

const { SDK_BUILD: build, SDK_DOCUMENTS: documents } = process.env;
const read = (...path) => JSON.parse(readFileSync(join(...path), 'utf8'));

const document = read(build, 'schemas-3.0.json');
const operations = read(build, 'operations.json');
/** With the limits, which the prepared schemas leave to the service. */
const published = read(documents ?? fileURLToPath(new URL('../../', import.meta.url)), 'openapi-3.0.json').components
  .schemas;

const resolve = (schema) => {
  const reference = schema.$ref ?? schema.allOf?.[0].$ref;
  return reference ? published[reference.split('/').pop()] : schema;
};

/** Whether the zero value of the Go type says something else than none. Of texts the empty one says nothing. */
const isZeroMeant = (schema) => {
  const { type, minimum } = resolve(schema);
  return type === 'integer' ? !(minimum > 0) : type !== 'string';
};

const isContainer = (schema) => {
  const { type, additionalProperties } = resolve(schema);
  return type === 'array' || (type === 'object' && Boolean(additionalProperties));
};

/** An update leaves as it is what is left out, which is not to make it empty. */
const isUpdate = (name) => {
  const { properties, required = [] } = published[name];
  return (
    name.endsWith('Input') &&
    Object.entries(properties).some(([member, { nullable }]) => nullable && !required.includes(member))
  );
};

/** What is left out while it has its zero value, and sent when it is empty. */
const omitted = { 'x-go-type-skip-optional-pointer': true, 'x-omitempty': false, 'x-omitzero': true };

/** The type of what an update can leave, set or clear. @throws Error for what has none */
const changeOf = ({ type, items }) => {
  if (type === 'string') return 'Change';
  if (type !== 'array') throw new Error(`There is no type in Go for a change of a member that is of type ${type}`);
  return `ListChange[${items.$ref ? exportedName(items.$ref.split('/').pop()) : 'string'}]`;
};

const optional = (schema, ofUpdate) => {
  if (schema.nullable && ofUpdate) return { 'x-go-type': changeOf(resolve(schema)), ...omitted };
  if (isContainer(schema)) return omitted;
  return { 'x-go-type-skip-optional-pointer': !ofUpdate && !isZeroMeant(schema) };
};

const lowerFirst = (text) => (/^[A-Z]{2}/.test(text) ? text : text[0].toLowerCase() + text.slice(1));

const members = new Set(Object.values(published).flatMap(({ properties }) => Object.keys(properties ?? {})));

/** A text of the document as a comment: members by the names that they have in Go. */
const comment = (text) => text.replaceAll(/`([^`]+)`/g, (_, word) => (members.has(word) ? exportedName(word) : word));

/** `A game to publish.` as what follows the name of a type: `is a game to publish.` */
const predicate = (text) => `${/^(The )?\w+s\b/.test(text) ? 'are' : 'is'} ${lowerFirst(comment(text))}`;

/** A member with its comment. A reference takes nothing beside it. */
const commented = (schema) => ({
  ...(schema.$ref ? { allOf: [{ $ref: schema.$ref }] } : schema),
  description: comment(schema.description ?? resolve(schema).description),
  ...(schema.deprecated && { 'x-deprecated-reason': comment(schema['x-deprecated-reason']) }),
});

/** What a page knows of the next one. */
const next = (name) => ({
  'x-go-name': 'next',
  'x-oapi-codegen-only-honour-go-name': true,
  'x-go-type': `func(context.Context) (*${exportedName(name)}, error)`,
  'x-go-type-skip-optional-pointer': true,
  'x-go-json-ignore': true,
  'x-order': Number.MAX_SAFE_INTEGER,
});

const pages = new Set(operations.filter(({ item }) => item).map(({ output }) => output));

const typed = (name, { description, properties, ...schema }) => ({
  ...schema,
  description: predicate(description),
  ...(properties && {
    properties: {
      ...Object.fromEntries(
        Object.entries(properties).map(([member, property], index) => [
          member,
          {
            ...commented(property),
            ...(!schema.required?.includes(member) && optional(published[name].properties[member], isUpdate(name))),
            'x-order': index + 1,
          },
        ]),
      ),
      ...(pages.has(name) && { next: next(name) }),
    },
  }),
});

document.components.schemas = Object.fromEntries(
  Object.entries(document.components.schemas).map(([name, schema]) => [name, typed(name, schema)]),
);
writeFileSync(join(build, 'schemas-go.json'), JSON.stringify(document, null, 2));
