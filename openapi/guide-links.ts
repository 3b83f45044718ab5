import { posix } from 'node:path';
import { guides } from './guide-catalogue.ts';

/** The address that examples of the guides and the document call. */
export const EXAMPLE_ADDRESS = 'http://localhost:3000';
/** Stand in the published guides for the address of the service, and for where its source is. */
export const ADDRESS = 'https://address.invalid';
export const SOURCE = 'https://source.invalid';

const DOCUMENTS = ['openapi.json', 'openapi-3.0.json'];

/** Where a file of this repository is published, from the root of the service: `guides/paging`. */
const publishedAt = (file: string): string | undefined => {
  const guide = guides.find((one) => one.file === file);
  if (guide !== undefined) return `guides/${guide.name}`;
  return DOCUMENTS.find((name) => file === `openapi/${name}`);
};

/** Where a link of a guide leads. */
export type LinkTarget =
  /** Somewhere on this service, from its root; or on the page itself, by a fragment alone. */
  | { kind: 'page'; path: string }
  | { kind: 'outside'; url: string }
  /** A file of the repository that is not published. */
  | { kind: 'file'; path: string };

/** Where `href` leads that stands in `file`, of which `isLocal` tells whether its examples are about the reader's machine. */
export const targetOf = (href: string, { file, isLocal }: { file: string; isLocal: boolean }): LinkTarget => {
  if (href.startsWith('#')) return { kind: 'page', path: href };
  // The root of the repository.
  if (href === '..') return { kind: 'outside', url: SOURCE };
  if (!isLocal && href.startsWith(`${EXAMPLE_ADDRESS}/`)) {
    return { kind: 'page', path: href.slice(EXAMPLE_ADDRESS.length + 1) };
  }
  if (/^[a-z]+:/.test(href)) return { kind: 'outside', url: href };
  const [path = '', fragment] = href.split('#', 2);
  const target = posix.join(posix.dirname(file), path);
  const place = publishedAt(target);
  if (place === undefined) return { kind: 'file', path: target };
  return { kind: 'page', path: fragment === undefined ? place : `${place}#${fragment}` };
};
