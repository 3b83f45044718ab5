/**
 * @engines none
 * @tier long
 * @needs oasdiff
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { buildDocument } from '../../openapi/document.ts';
import { shelf } from '../harness/documents/deprecated.ts';

// What CI says to a deprecation from its announcement to the end, on a contract in which each kind of thing is deprecated.

interface Schema {
  enum?: string[];
  properties: Record<string, Schema>;
  required?: string[];
  type?: string;
}
interface Document {
  info: { title: string; version: string };
  paths: Record<string, { post: Record<string, unknown> }>;
  components: { schemas: Record<string, Schema> };
}
type Change = (document: Document) => void;

const folder = mkdtempSync(join(tmpdir(), 'content-gateway-removal-'));
const announced = (await buildDocument('1.0.0', '3.1', { shelf })) as unknown as Document;
const MARKS = new Set(['deprecated', 'x-deprecated', 'x-deprecated-values']);

const copyOf = (document: Document, replace: (key: string, value: unknown) => unknown = (_, value) => value) =>
  JSON.parse(JSON.stringify(document), replace) as Document;
/** The document before anything was deprecated. */
const plain = copyOf(announced, (key, value) => (MARKS.has(key) ? undefined : value));

const schemaOf = ({ components }: Document, name: string): Schema => components.schemas[name]!;
const drop = (document: Document, name: string, member: string): void => {
  const schema = schemaOf(document, name);
  delete schema.properties[member];
  if (schema.required) schema.required = schema.required.filter((one) => one !== member);
};

/** What goes, and from which day it may. */
const ends: [what: string, end: string, text: string, change: Change][] = [
  ['an operation', '2026-09-01', 'shelf.all', ({ paths }) => delete paths['/api/trpc/shelf.all']],
  ['a member of an input', '2026-10-01', 'shelf.add: [^]*json/label', (one) => drop(one, 'ShelfAddInput', 'label')],
  ['a member in a list', '2026-10-01', 'json/filters/items/label', (one) => drop(one, 'ShelfFilter', 'label')],
  ['a member of an output', '2026-07-01', 'json/items/items/rank', (one) => drop(one, 'ShelfItem', 'rank')],
  [
    'a member that is restricted',
    '2026-10-01',
    'shelf.add: [^]*json/label',
    (one) => Object.assign(schemaOf(one, 'ShelfAddInput').properties['label']!, { pattern: '^x$' }),
  ],
];
const dropValue: Change = (document) => schemaOf(document, 'ShelfOrder').enum!.pop();

const ALL = '`shelf.all`, `label`, `rank`, `newest`, `order` and `shelf.add`, `shelf.list`.';
const DEPRECATED = `## Unreleased\n\n### Deprecated\n\n- ${ALL}`;
const TOLD = `## Unreleased\n\n- Gone are ${ALL}`;

describe('a deprecation', () => {
  afterAll(() => rmSync(folder, { recursive: true }));

  /** What the check says on a day to a document that follows a released one. */
  const check = (released: Document, changed: Document, { today = '2026-12-01', entries = TOLD } = {}) => {
    const isOfThatVersion = changed.info.version === released.info.version;
    const current = isOfThatVersion ? { ...changed, info: { ...changed.info, version: '1.1.0' } } : changed;
    const files = ['released.json', 'openapi.json', 'CHANGELOG.md'].map((name) => join(folder, name));
    for (const [index, text] of [JSON.stringify(released), JSON.stringify(current), entries].entries())
      writeFileSync(files[index]!, text);
    const args = ['dist/openapi/compare.js', globalThis.TEST_OASDIFF, ...files, '--today', today];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    return { status, stderr };
  };
  const changed = (document: Document, change: Change): Document => {
    const copy = copyOf(document);
    change(copy);
    return copy;
  };
  const passed = { status: 0, stderr: '' };
  const refused = (text: string) => ({ status: 1, stderr: expect.stringMatching(text) });

  test('is told in the changelog, under its heading', () => {
    expect(check(plain, announced, { entries: DEPRECATED })).toEqual(passed);
    for (const name of ['shelf.all', 'label', 'rank', 'newest']) {
      const entries = DEPRECATED.replace(`\`${name}\``, 'it');
      expect(check(plain, announced, { entries })).toEqual(refused(`must name \`${name}\` under \`### Deprecated\``));
    }
    expect(check(plain, announced)).toEqual(refused('under `### Deprecated`'));
    expect(check(announced, announced)).toEqual(passed);
  });

  test.each(ends)('of %s lets it go from %s on', (_, end, text, change) => {
    const gone = changed(announced, change);
    const dayBefore = new Date(Date.parse(end) - 86_400_000).toISOString().slice(0, 10);
    expect(check(announced, gone, { today: dayBefore })).toEqual(refused(`${text}[^]*may go from ${end} on`));
    expect(check(announced, gone, { today: end })).toEqual(passed);
    expect(check(announced, changed(gone, moveMajor), { today: dayBefore })).toEqual(refused(`may go from ${end} on`));
  });

  const moveMajor: Change = (document) => Object.assign(document, { info: { title: '', version: '2.0.0' } });

  test('without a sunset lets nothing go', () => {
    const gone = changed(announced, dropValue);
    expect(check(announced, gone)).toEqual(refused('`newest`[^]*may go after a sunset that is not announced yet'));
    const withSunset = copyOf(announced, (key, value) =>
      key === 'newest' ? { ...(value as object), sunset: '2026-12-01' } : value,
    );
    expect(check(announced, withSunset, { entries: '' })).toEqual(passed);
    expect(check(withSunset, gone, { today: '2026-11-30' })).toEqual(refused('may go from 2026-12-01 on'));
    expect(check(withSunset, gone)).toEqual(passed);
    const goneOther = changed(withSunset, (document) => schemaOf(document, 'ShelfOrder').enum!.shift());
    expect(check(withSunset, goneOther)).toEqual(refused('breaks callers[^]*`latest`'));
  });

  test('counts from its own day where the sunset is too early', () => {
    const early = copyOf(announced, (key, value) => (key === 'sunset' ? '2026-02-02' : value));
    const gone = changed(early, (one) => drop(one, 'ShelfAddInput', 'label'));
    expect(check(early, gone, { today: '2026-06-29' })).toEqual(refused('json/label[^]*may go from 2026-06-30 on'));
    expect(check(early, gone, { today: '2026-06-30' })).toEqual(passed);
  });

  test.each(ends.slice(0, 4))('is what %s needs before it goes', (_what, _end, text, change) => {
    const gone = changed(plain, change);
    expect(check(plain, gone)).toEqual(refused(`breaks callers[^]*${text}[^]*may go from 2027-05-30 on`));
    expect(check(plain, changed(gone, moveMajor))).toEqual(passed);
  });

  test('excuses nothing else', () => {
    const gone = changed(announced, (one) => drop(one, 'ShelfItem', 'position'));
    expect(check(announced, gone, { entries: TOLD.replace('.', '. `position`') })).toEqual(refused('breaks callers'));
  });

  test('keeps the days that were released', () => {
    const changing = (day: 'since' | 'sunset', from: string, to: string) =>
      copyOf(announced, (key, value) => (key === day && value === from ? to : value));
    expect(check(announced, changing('since', '2026-02-01', '2025-02-01'))).toEqual(
      refused('shelf.all was released as deprecated since 2026-02-01'),
    );
    expect(check(announced, changing('sunset', '2026-10-01', '2026-09-30'))).toEqual(
      refused('shelf.add `json/label` was released to end on 2026-10-01: it must not end earlier, on 2026-09-30'),
    );
    expect(check(announced, changing('sunset', '2026-10-01', '2027-10-01'))).toEqual(passed);
  });
});
