import { readFileSync } from 'node:fs';

/** The reader of a guide: the author of a client, the author of its tests, or the operator of a service. */
type Reader = 'integrator' | 'ci' | 'operator';

/** A guide: a published Markdown file of this repository. */
export interface Guide {
  /** Its name under `/guides/`. */
  name: string;
  /** Its path from the root of the repository. */
  file: string;
  group: string;
  reader: Reader;
  /** Whether `http://localhost:3000` in it is the reader's own machine, not an example of this service. */
  isLocal: boolean;
  /** Whether it helps to write a client: other guides do not concern clients, or say too much. */
  isForClients: boolean;
}

/** The guides for each reader, in groups. */
const GUIDES: Record<Reader, [group: string, names: string[]][]> = {
  integrator: [
    ['First steps', ['start', 'keys']],
    ['Calls', ['paging', 'searching', 'errors', 'retries', 'limits', 'events', 'webhooks']],
    ['Clients', ['sdks', 'generators', 'trpc', 'mcp']],
    ['News', ['changelog']],
  ],
  ci: [['Tests', ['sandbox', 'ci', 'contracts']]],
  operator: [
    ['Run it', ['operators', 'settings', 'upgrading', 'consumers', 'backup', 'transfer']],
    ['Look after people', ['moderation', 'erasure']],
    ['In depth', ['operations', 'monitoring', 'scaling', 'sizing']],
  ],
};

/** The guides that clients need, beside those of integrators. */
const ALSO_FOR_CLIENTS = ['sandbox'];
/** The guides of integrators that do not concern the code of a client, or say too much. */
const NOT_FOR_CLIENTS = ['changelog', 'generators', 'mcp'];

/** The guides, in their reading order. */
export const guides: readonly Guide[] = (Object.keys(GUIDES) as Reader[]).flatMap((reader) =>
  GUIDES[reader].flatMap(([group, names]) =>
    names.map((name) => ({
      name,
      file: name === 'changelog' ? 'CHANGELOG.md' : `docs/${name}.md`,
      group,
      reader,
      isLocal: reader !== 'integrator',
      isForClients: ALSO_FOR_CLIENTS.includes(name) || (reader === 'integrator' && !NOT_FOR_CLIENTS.includes(name)),
    })),
  ),
);

/** A mark at the start or the end of a passage that services of some kinds publish: `<!-- where own sandbox -->`. */
export const PASSAGE_MARK = /^<!-- (?:where [\w -]+|\/where) -->\s*$/;
/** All other comments; these are not published. */
const COMMENT = /<!--(?! (?:where [\w -]+|\/where) -->)[^]*?-->(\n(?=\n))?/g;

/** The Markdown of a guide, without comments other than the marks of passages. Runs in the root of the repository. */
export const sourceOf = ({ file }: Guide): string => readFileSync(file, 'utf8').replaceAll(COMMENT, '').trimStart();
