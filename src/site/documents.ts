import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { operations } from '../../contract/index.ts';
import { escapeUnseen } from '../../contract/text.ts';
import type { Config } from '../config/config.ts';

const require = createRequire(import.meta.url);

/** The address that the documents name; the service replaces it with its own. */
export const EXAMPLE_ADDRESS = 'http://localhost:3000';

/** The members of an OpenAPI document that the service changes. */
interface ServedDocument {
  info: { title: string; description: string };
  paths: Record<string, unknown>;
}

/** The paths that serve documents. */
export const documentPaths: readonly string[] = ['/openapi.json', '/openapi-3.0.json'];

const read = (path: string): ServedDocument =>
  JSON.parse(readFileSync(require.resolve(`#openapi${path}`), 'utf8')) as ServedDocument;

/** The paths in the order of the contract; the files have them by name. */
const inOrder = (paths: ServedDocument['paths']) =>
  Object.fromEntries(operations.map(({ route: { path } }) => [path, paths[path]]));

/** The pages that a text names, such as `/guides/keys`, as links. */
const linked = (markdown: string): string =>
  markdown.replaceAll(/`(\/(?:guides\/[\w-]+|errors(?:\.json)?))`/g, `[\`$1\`](${EXAMPLE_ADDRESS}$1)`);

/** A document as this operator publishes it. */
const published = (document: ServedDocument, { brand: { name, contact, terms } }: Config) => ({
  ...document,
  info: {
    ...document.info,
    title: name,
    description: linked(document.info.description),
    ...(contact !== undefined && {
      contact: contact.startsWith('mailto:') ? { email: contact.slice('mailto:'.length) } : { url: contact },
    }),
    ...(terms !== undefined && { termsOfService: terms }),
  },
  servers: [{ url: EXAMPLE_ADDRESS }],
  externalDocs: { description: 'Guides', url: `${EXAMPLE_ADDRESS}/guides/` },
  paths: inOrder(document.paths),
});

/** An address that is a plain word in all languages of the samples, including shells. */
const plain = (url: string): string =>
  new URL(url).href
    .replace(/\/$/, '')
    .replaceAll(/[^\w.:/[\]%~-]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);

/** A document, in JSON or YAML, with this address of the service in its servers, links and samples. */
export const withAddress = (document: string, base: string): string =>
  document.replaceAll(EXAMPLE_ADDRESS, plain(base));

/** The document of a path as JSON, with the example address until `withAddress` replaces it. */
export const documentAt = (path: string, config: Config): string =>
  escapeUnseen(JSON.stringify(published(read(path), config)));

/** All of them, by their paths. */
export const documents = (config: Config): [path: string, json: string][] =>
  documentPaths.map((path) => [path, documentAt(path, config)]);
