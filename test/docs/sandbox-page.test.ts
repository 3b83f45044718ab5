/**
 * @engines none
 * @tier fast
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { format } from 'prettier';
import { readConfig, sandboxOf } from '../../src/config/config.ts';
import { closeContext, openContext } from '../../src/app/context.ts';
import type { Catalogue } from '../../src/testkit/sandbox/catalogue.ts';
import { SandboxWorkspaces } from '../../src/testkit/sandbox/workspaces.ts';

// docs/sandbox-data.md, and a part of docs/sandbox.md, are what the sandbox says of itself. UPDATE_SANDBOX=true writes them.

const PAGE = 'docs/sandbox-data.md';
const GUIDE = 'docs/sandbox.md';
/** Where in the guide it stands. */
const PART = /(?<=<!-- sandbox -->)[^]*?(?=<!-- \/ -->)/;
const UPDATE = 'UPDATE_SANDBOX=true npm test -- --selectProjects unit --coverage=false test/docs/sandbox-page.test.ts';
const HOUR_MS = 3_600_000;
/** Tags that are listed; more have fewer records than anybody would look for. */
const LISTED_TAGS = 30;

const readCatalogue = async (): Promise<Catalogue> => {
  const main = await openContext(sandboxOf(readConfig({})), pino({ level: 'silent' }));
  const spaces = await SandboxWorkspaces.open(main);
  try {
    return await spaces.catalogue();
  } finally {
    await spaces.close();
    await closeContext(main);
  }
};

type Cell = string | number | null | undefined;

const table = (titles: readonly string[], rows: readonly (readonly Cell[])[]): string => {
  const line = (cells: readonly Cell[]): string =>
    `| ${cells.map((cell) => String(cell ?? '—').replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(titles), line(titles.map(() => '-')), ...rows.map(line)].join('\n');
};

const code = (text: string): string => `\`${text}\``;

/** How long ago something was at the start: `5 d 3 h`. */
const ageOf = (time: string, reference: string): string => {
  const hours = Math.floor((Date.parse(reference) - Date.parse(time)) / HOUR_MS);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
};

const keyTable = ({ keys }: Catalogue): string =>
  table(
    ['Key', 'User', 'Scopes'],
    keys.map(({ key, user, scopes, ended }) => [code(key), user, ended ?? scopes.join(', ')]),
  );

const countsOf = ({ counts }: Catalogue): string =>
  `${counts.users} users, ${counts.games} games, ${counts.imagePosts} image posts and ${counts.tags} tags.`;

const guideOf = (found: Catalogue): string =>
  readFileSync(GUIDE, 'utf8').replace(PART, () => ['', countsOf(found), '### Keys', keyTable(found), ''].join('\n\n'));

const pageOf = (found: Catalogue): string => {
  const { reference, timeRanges, gameTypes, tags, users, games, imagePosts } = found;
  const names = new Map(users.map(({ id, nickname }) => [id, nickname]));
  return [
    `<!-- Made from the data by: ${UPDATE} -->`,
    '# What the sandbox holds',
    'All records of the [sandbox](sandbox.md). They are the same at each start of `serve --sandbox`, after each ' +
      '`POST /sandbox/reset`, and in each new space. `GET /sandbox` answers the same as JSON. Times are relative to the hour of ' +
      'the start or, once the sandbox has run for twelve hours, to the hour in which a space is made or reset.',
    countsOf(found),
    '## Keys',
    keyTable(found),
    '## By time range',
    'At the start; as time passes, the shorter ones lose records.',
    table(
      ['`timeRange`', 'Games', 'Image posts'],
      Object.entries(timeRanges.games).map(([name, count]) => [
        code(name),
        count,
        timeRanges.imagePosts[name as keyof typeof timeRanges.imagePosts],
      ]),
    ),
    '## By type',
    table(
      ['`gameType`', 'Games'],
      gameTypes.map(({ gameType, count }) => [gameType === null ? null : code(gameType), count]),
    ),
    '## By tag',
    `The ${LISTED_TAGS} that most records have.`,
    table(
      ['Slug', 'Games', 'Image posts'],
      tags.slice(0, LISTED_TAGS).map((tag) => [code(tag.slug), tag.games, tag.imagePosts]),
    ),
    '## Users',
    table(
      ['Id', 'Nickname', 'Games', 'Image posts'],
      users.map((user) => [code(user.id), user.nickname, user.games, user.imagePosts]),
    ),
    '## Games',
    'Newest first.',
    table(
      ['Id', 'Title', 'Type', 'Author', 'Age'],
      games.map((game) => [
        code(game.id),
        game.title,
        game.gameType,
        names.get(game.author),
        ageOf(game.createdAt, reference),
      ]),
    ),
    '## Image posts',
    'Newest first.',
    table(
      ['Id', 'Title', 'Author', 'Age'],
      imagePosts.map((post) => [code(post.id), post.title, names.get(post.author), ageOf(post.createdAt, reference)]),
    ),
  ].join('\n\n');
};

describe('sandbox page', () => {
  test('the page about the sandbox, and README, are as the data', async () => {
    const catalogue = await readCatalogue();
    const { games, imagePosts } = catalogue.counts;
    expect(readFileSync('README.md', 'utf8')).toContain(
      `serves ${games} games and ${imagePosts} image posts from memory`,
    );
    for (const [path, text] of [
      [PAGE, pageOf(catalogue)],
      [GUIDE, guideOf(catalogue)],
    ] as const) {
      const page = await format(text, { parser: 'markdown', printWidth: 120 });
      if (process.env['UPDATE_SANDBOX'] === 'true') writeFileSync(path, page);
      // As a text, it would be shown whole.
      const isUpToDate = readFileSync(path, 'utf8') === page;
      expect(isUpToDate ? '' : `${path} differs from the data. Mend it with: ${UPDATE}`).toBe('');
    }
  });
});
