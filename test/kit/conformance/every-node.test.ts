/**
 * @engines none
 * @tier long
 */
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { type ClientDocument, documented } from '../../../openapi/kit/conformance/document/client-document.ts';
import { changesFor } from '../../../openapi/kit/conformance/document/compare.ts';
import { FOR_PEOPLE } from '../../../openapi/kit/conformance/document/schema.ts';

// Whether the comparison sees an edit of any node of the document. All nodes take 80 s of the processor: `.ci/run --all` edits them.

const TIMEOUT_MS = 600_000;
/** Every fourth node is edited, unless this says otherwise. */
const NODES_APART = Number(process.env['NODES_APART'] ?? 4);

type Json = Record<PropertyKey, unknown>;
type Path = readonly (string | number)[];

const published = JSON.parse(readFileSync('openapi/openapi.json', 'utf8')) as Json;

/** Members that have names of their own, which no keyword is. */
const NAMES = new Set([
  'properties',
  'schemas',
  'paths',
  'webhooks',
  'callbacks',
  'headers',
  'parameters',
  'responses',
  'content',
  'securitySchemes',
  'examples',
]);
/** Members that are about the document itself. */
const ABOUT = new Set(['openapi', 'info', 'servers', 'tags', 'externalDocs']);

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

const nodesIn = (value: unknown, path: Path = [], areNames = false): Path[] =>
  isObject(value)
    ? Object.entries(value).flatMap(([name, member]) => {
        if (!areNames && !Array.isArray(value) && FOR_PEOPLE.has(name)) return [];
        if (path.length === 0 && ABOUT.has(name)) return [];
        const at = [...path, Array.isArray(value) ? Number(name) : name];
        return [at, ...nodesIn(member, at, !areNames && NAMES.has(name))];
      })
    : [];

/** The components that a value refers to, and those that these refer to. */
const componentsOf = (value: unknown, known = new Set<string>()): Set<string> => {
  for (const [, kind = '', name = ''] of JSON.stringify(value).matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)) {
    if (known.has(`${kind}/${name}`)) continue;
    known.add(`${kind}/${name}`);
    componentsOf((published['components'] as Record<string, Json>)[kind]?.[name], known);
  }
  return known;
};
const holders = ['paths', 'webhooks'].flatMap((member) =>
  Object.entries(published[member] as Json).map(([name, item]) => ({ member, name, uses: componentsOf(item) })),
);

/** The document with the one operation, or message, that a node belongs to: comparing all of them takes long. */
const aroundOf = ([member, kind, name]: Path): Json => {
  const found =
    member === 'components'
      ? holders.find(({ uses }) => uses.has(`${String(kind)}/${String(name)}`))
      : holders.find((one) => one.member === member && one.name === kind);
  if (!found) return published;
  const only = (one: string): Json =>
    found.member === one ? { [found.name]: (published[one] as Json)[found.name] } : {};
  return { ...published, paths: only('paths'), webhooks: only('webhooks') };
};

/** A copy of a value in which a node is edited; the rest is shared. */
const edited = (
  value: unknown,
  [name = '', ...rest]: Path,
  edit: (holder: Json, name: string | number) => void,
): Json => {
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as Json) }) as Json;
  if (rest.length === 0) edit(copy, name);
  else copy[name] = edited(copy[name], rest, edit);
  return copy;
};

const edits: Record<string, (holder: Json, name: string | number) => void> = {
  gone: (holder, name) => {
    if (Array.isArray(holder)) holder.splice(Number(name), 1);
    else delete holder[name];
  },
  other: (holder, name) => {
    const value = holder[name];
    if (typeof value === 'string') holder[name] = `${value}x`;
    else if (typeof value === 'number') holder[name] = value + 1;
    else if (typeof value === 'boolean') holder[name] = !value;
    else if (Array.isArray(value)) holder[name] = [...(value as unknown[]), 'x'];
    else holder[name] = { ...(value as object), 'x-unknown': 1 };
  },
};

test(
  'no edit of a node stays unseen',
  () => {
    const known = new Map<string, ClientDocument>();
    const nodes = nodesIn(published);
    expect(nodes.length).toBeGreaterThan(10_000);
    const some = nodes.filter((_, n) => n % NODES_APART === 0);
    const unseen = some.flatMap((path) => {
      const around = aroundOf(path);
      const name = JSON.stringify([Object.keys(around['paths'] as Json), Object.keys(around['webhooks'] as Json)]);
      const before = known.get(name) ?? documented('before', around);
      known.set(name, before);
      return Object.entries(edits)
        .filter(([, edit]) => changesFor(before, documented('now', edited(around, path, edit))).length === 0)
        .map(([edit]) => `${edit} ${path.join('/')}`);
    });
    expect(unseen).toEqual([]);
  },
  TIMEOUT_MS,
);
