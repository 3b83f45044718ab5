import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { kindOf, markdownUrl, markdownWithContact, type Publication } from '../publication.ts';

const require = createRequire(import.meta.url);

/** A guide: a Markdown file of this repository that is published. */
export interface Guide {
  /** Its place under `/guides/`. */
  name: string;
  /** Its path from the root of the repository. */
  file: string;
  group: string;
  /** Whether it is for operators of the service, and not for its callers. */
  isForOperators: boolean;
  /** Whether `http://localhost:3000` in it is the reader's own machine, and not an example of this service. */
  isLocal: boolean;
  /** Whether it helps who writes a client: others say nothing to them, or too much. */
  isForClients: boolean;
}

const TESTS = 'Tests';

/** The guides for callers. */
const INTEGRATION: [group: string, names: string[]][] = [
  ['First steps', ['start', 'keys']],
  ['Calls', ['paging', 'searching', 'errors', 'retries', 'limits', 'events', 'webhooks']],
  ['Clients', ['sdks', 'generators', 'trpc', 'mcp']],
  [TESTS, ['sandbox', 'ci', 'contracts']],
  ['News', ['changelog']],
];

/** The guides for operators. */
const OPERATION: [group: string, names: string[]][] = [
  ['Run it', ['operators', 'settings', 'upgrading', 'consumers', 'backup', 'transfer']],
  ['Look after people', ['moderation', 'erasure']],
  ['In depth', ['operations', 'monitoring', 'scaling', 'sizing']],
];

const guidesOf = (groups: readonly [group: string, names: string[]][], isForOperators: boolean): Guide[] =>
  groups.flatMap(([group, names]) =>
    names.map((name) => ({
      name,
      file: name === 'changelog' ? 'CHANGELOG.md' : `docs/${name}.md`,
      group,
      isForOperators,
      isLocal: isForOperators || group === TESTS,
      isForClients: !isForOperators && !['ci', 'contracts', 'changelog', 'generators', 'mcp'].includes(name),
    })),
  );

/** The guides, in the order in which they are read. */
export const guides: readonly Guide[] = [...guidesOf(INTEGRATION, false), ...guidesOf(OPERATION, true)];

const COMMENT = /<!--[^]*?-->(\n(?=\n))?/g;
/** `<!-- where own sandbox -->` and its end enclose what is said only by services of these kinds. */
export const PASSAGE = /<!-- where ([\w -]+) -->\n\n([^]*?)<!-- \/where -->\n\n/g;
/** A link to the root of the repository. */
const TO_SOURCE = /\[([^\]]+)\]\(\.\.\)/g;

/** Markdown as a service publishes it: with its own passages, its source and its contact. */
export const publishedText = (markdown: string, publication: Publication): string => {
  const { brand, sdksDir } = publication;
  const kinds: string[] = [kindOf(publication), sdksDir === undefined ? 'no-sdks' : 'sdks'];
  const text = markdown
    .replaceAll(PASSAGE, (_, names: string, passage: string) =>
      names.split(' ').some((name) => kinds.includes(name)) ? passage : '',
    )
    .replaceAll(TO_SOURCE, (_, words: string) =>
      brand.source === undefined ? words : `[${words}](${markdownUrl(brand.source)})`,
    );
  return markdownWithContact(text, publication);
};

const read = ({ name }: Guide): string =>
  readFileSync(require.resolve(name === 'changelog' ? '#changelog' : `#docs/${name}.md`), 'utf8');

/** The Markdown of a guide, without comments: as a service publishes it or, without one, as it is kept. */
export const sourceOf = (guide: Guide, publication?: Publication): string =>
  (publication === undefined ? read(guide) : publishedText(read(guide), publication))
    .replaceAll(COMMENT, '')
    .trimStart();
