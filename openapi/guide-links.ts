import { posix } from 'node:path';
import { guides } from './guide-catalogue.ts';

/** The address that examples of the guides and the document call. */
export const EXAMPLE_ADDRESS = 'http://localhost:3000';
/** The placeholders in published guides for the address of the service, and for that of its source. */
export const ADDRESS = 'https://address.invalid';
export const SOURCE = 'https://source.invalid';

const DOCUMENTS = ['openapi.json', 'openapi-3.0.json'];

/** The published path of a file of this repository, from the root of the service: `guides/paging`. */
const publishedAt = (file: string): string | undefined => {
  const guide = guides.find((one) => one.file === file);
  if (guide !== undefined) return `guides/${guide.name}`;
  return DOCUMENTS.find((name) => file === `openapi/${name}`);
};

/** The target of a link in a guide. */
export type LinkTarget =
  /** A path on this service, from its root; or a fragment of the page itself. */
  | { kind: 'page'; path: string }
  | { kind: 'outside'; url: string }
  /** An unpublished file of the repository. */
  | { kind: 'file'; path: string };

/** The target of the link `href` in `file`; `isLocal` tells whether its examples call the reader's machine. */
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
