/**
 * @engines none
 * @tier fast
 */
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { documented } from '../../../src/testkit/conformance/document/client-document.ts';
import { changesFor } from '../../../src/testkit/conformance/document/compare.ts';
import { FOR_PEOPLE } from '../../../src/testkit/conformance/document/schema.ts';

// Whether the comparison sees each node of the document.

const text = readFileSync('openapi/openapi.json', 'utf8');
const original = documented('before', JSON.parse(text) as object);

/** Members that have names of their own, which no keyword is. */
const NAMES = new Set(['properties', 'schemas', 'paths', 'webhooks', 'headers', 'parameters', 'responses', 'content', 'securitySchemes', 'examples']);
/** Parts of the whole that are about the document itself. */
const ABOUT = new Set(['openapi', 'info', 'servers', 'tags', 'externalDocs']);

type Path = (string | number)[];
const paths: Path[] = [];
const collect = (value: unknown, path: Path, areNames: boolean): void => {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (!areNames && !Array.isArray(value) && FOR_PEOPLE.has(name)) continue;
    if (path.length === 0 && ABOUT.has(name)) continue;
    const at = [...path, Array.isArray(value) ? Number(name) : name];
    paths.push(at);
    collect(member, at, !areNames && NAMES.has(name));
  }
};
collect(original.document, [], false);

type Holder = Record<PropertyKey, unknown>;
const edits: Record<string, (holder: Holder, name: string | number) => void> = {
  gone: (holder, name) => (Array.isArray(holder) ? holder.splice(Number(name), 1) : delete holder[name]),
  other: (holder, name) => {
    const value = holder[name];
    if (typeof value === 'string') holder[name] = `${value}x`;
    else if (typeof value === 'number') holder[name] = value + 1;
    else if (typeof value === 'boolean') holder[name] = !value;
    else if (Array.isArray(value)) holder[name] = [...(value as unknown[]), 'x'];
    else holder[name] = { ...(value as object), 'x-unknown': 1 };
  },
};

test('no edit of a node stays unseen', () => {
  console.error(paths.length);
  const unseen: string[] = [];
  const every = Number(process.env['EVERY'] ?? 40);
  const began = performance.now();
  let n = 0;
  for (let at = Number(process.env['FIRST'] ?? 0); at < paths.length; at += every) {
    for (const [edit, act] of Object.entries(edits)) {
      const document = JSON.parse(text) as object;
      const path = paths[at]!;
      const holder = path.slice(0, -1).reduce<unknown>((one, name) => (one as Holder)[name], document) as Holder;
      act(holder, path.at(-1)!);
      n += 1;
      if (changesFor(original, documented('now', document)).length === 0) unseen.push(`${edit} ${path.join('/')}`);
    }
  }
  console.error(n, performance.now() - began, unseen.length);
  expect(unseen).toEqual([]);
});
