import { createRequire } from 'node:module';
import { procedures } from '../../contract/index.ts';
import { escapeUnseen } from '../../contract/text.ts';
import type { Config } from '../config/config.ts';

const require = createRequire(import.meta.url);

/** An OpenAPI document, as far as the service changes it. */
interface ServedDocument {
  info: { title: string };
  paths: Record<string, unknown>;
}

const files: Record<string, ServedDocument> = {
  '/openapi.json': require('#openapi/openapi.json') as ServedDocument,
  '/openapi-3.0.json': require('#openapi/openapi-3.0.json') as ServedDocument,
};

/** The paths in the order of the contract; the files have them by name. */
const inOrder = (paths: ServedDocument['paths']) =>
  Object.fromEntries(procedures.map(({ route: { path } }) => [path, paths[path]]));

/** A document as this operator publishes it. */
const published = (document: ServedDocument, { publicUrl, brand: { name, contact, terms } }: Config) => ({
  ...document,
  info: {
    ...document.info,
    title: name,
    ...(contact !== undefined && {
      contact: contact.startsWith('mailto:') ? { email: contact.slice('mailto:'.length) } : { url: contact },
    }),
    ...(terms !== undefined && { termsOfService: terms }),
  },
  ...(publicUrl !== undefined && {
    servers: [{ url: publicUrl }],
    externalDocs: { description: 'Guides', url: `${publicUrl}/guides/` },
  }),
  paths: inOrder(document.paths),
});

/** Where the code samples of the documents look for the service. */
const SAMPLE_URL = 'http://localhost:3000';

/** An address that is a plain word in all languages of the samples, shells among them. */
const inSamples = (url: string): string =>
  new URL(url).href
    .replace(/\/$/, '')
    .replaceAll(/[^\w.:/[\]%~-]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);

/** A document in JSON, whose samples call the service where this operator has it. */
const formatted = (document: ServedDocument, { publicUrl }: Config): string => {
  const json = escapeUnseen(JSON.stringify(document));
  return publicUrl === undefined ? json : json.replaceAll(SAMPLE_URL, inSamples(publicUrl));
};

/** The published documents as JSON, by the paths that serve them. */
export const documents = (config: Config): [path: string, json: string][] =>
  Object.entries(files).map(([path, document]) => [path, formatted(published(document, config), config)]);
