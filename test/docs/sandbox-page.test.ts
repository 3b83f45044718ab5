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
import type { Catalogue } from '../../src/sandbox/catalogue.ts';
import { SandboxWorkspaces } from '../../src/sandbox/workspaces.ts';

// A part of docs/sandbox.md is what the sandbox says of itself. UPDATE_SANDBOX=true writes it.

const GUIDE = 'docs/sandbox.md';
/** Where in the guide it stands. */
const PART = /(?<=<!-- sandbox -->)[^]*?(?=<!-- \/ -->)/;
const UPDATE = 'UPDATE_SANDBOX=true npm test -- --selectProjects unit --coverage=false test/docs/sandbox-page.test.ts';

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

const keyTable = ({ keys }: Catalogue): string =>
  [
    '| Key | User | Scopes |\n| - | - | - |',
    ...keys.map(({ key, user, scopes, ended }) => `| \`${key}\` | ${user} | ${ended ?? scopes.join(', ')} |`),
  ].join('\n');

const countsOf = ({ counts }: Catalogue): string =>
  `${counts.users} users, ${counts.games} games, ${counts.imagePosts} image posts and ${counts.tags} tags.`;

const guideOf = (found: Catalogue): string =>
  readFileSync(GUIDE, 'utf8').replace(PART, () => ['', countsOf(found), '### Keys', keyTable(found), ''].join('\n\n'));

describe('sandbox page', () => {
  test('the guide to the sandbox, and README, are as the data', async () => {
    const catalogue = await readCatalogue();
    const { games, imagePosts } = catalogue.counts;
    expect(readFileSync('README.md', 'utf8')).toContain(
      `serves ${games} games and ${imagePosts} image posts from memory`,
    );
    const page = await format(guideOf(catalogue), { parser: 'markdown', printWidth: 120 });
    if (process.env['UPDATE_SANDBOX'] === 'true') writeFileSync(GUIDE, page);
    // As a text, it would be shown whole.
    const isUpToDate = readFileSync(GUIDE, 'utf8') === page;
    expect(isUpToDate ? '' : `${GUIDE} differs from the data. Mend it with: ${UPDATE}`).toBe('');
  });
});
