import { readFileSync } from 'node:fs';

/** A guide: a published Markdown file of this repository. */
export interface Guide {
  /** Its name under `/guides/`. */
  name: string;
  /** Its path from the root of the repository. */
  file: string;
  group: string;
  /** Whether it is for operators of the service, not for its callers. */
  isForOperators: boolean;
  /** Whether `http://localhost:3000` in it is the reader's own machine, not an example of this service. */
  isLocal: boolean;
  /** Whether it helps to write a client: other guides do not concern clients, or say too much. */
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

/** The guides, in their reading order. */
export const guides: readonly Guide[] = [...guidesOf(INTEGRATION, false), ...guidesOf(OPERATION, true)];

/** A mark at the start or the end of a passage that services of some kinds publish: `<!-- where own sandbox -->`. */
export const PASSAGE_MARK = /^<!-- (?:where [\w -]+|\/where) -->\s*$/;
/** All other comments; these are not published. */
const COMMENT = /<!--(?! (?:where [\w -]+|\/where) -->)[^]*?-->(\n(?=\n))?/g;

/** The Markdown of a guide, without comments other than the marks of passages. Runs in the root of the repository. */
export const sourceOf = ({ file }: Guide): string => readFileSync(file, 'utf8').replaceAll(COMMENT, '').trimStart();
