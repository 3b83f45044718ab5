// node schemas.mjs <build>: writes <build>/java.json, the schemas as the generator gets them: their descriptions are Javadoc.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSettings } from '../settings.mjs';
import { javadoc } from './javadoc.mjs';

const [build] = process.argv.slice(2);
const document = JSON.parse(readFileSync(join(build, 'schemas-3.0.json'), 'utf8'));
const { schemas } = document.components;

const referred = ({ $ref, allOf }) => schemas[($ref ?? allOf[0].$ref).split('/').pop()];

/** The description of a property that only refers to a schema is the schema's. */
const described = (property) => ({
  ...property,
  description: javadoc(property.description ?? referred(property).description),
  ...(property.deprecated && { 'x-deprecated-reason': javadoc(property['x-deprecated-reason']) }),
});

const prepare = ({ properties, description, ...schema }) => ({
  ...schema,
  description: javadoc(description),
  ...(properties && {
    properties: Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, described(property)])),
  }),
});

const prepared = Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, prepare(schema)]));
const info = { ...document.info, title: readSettings().title };
writeFileSync(join(build, 'java.json'), JSON.stringify({ ...document, info, components: { schemas: prepared } }));
