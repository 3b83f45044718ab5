import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { counted } from '../../../../contract/text.ts';
import { currentDate, currentTime } from '../../../base/runtime.ts';
import { record, systemActor } from '../../../auth/audit/log.ts';
import { wholeNumberUpTo } from '../shared/arguments.ts';
import { databaseCommand, defaulted, type Input } from '../shared/command.ts';
import { print } from '../shared/output.ts';
import { withProgress } from '../shared/progress.ts';

const MOST_ROWS = 10_000_000;
const EARLIEST = '2000-01-01';

const parseDay = (text: string): Date => {
  if (z.iso.date().safeParse(text).success && text >= EARLIEST) return new Date(text);
  throw new InvalidArgumentError(`It must be a date from ${EARLIEST} on, such as 2026-04-01.`);
};

const today = (): Date => new Date(currentDate().setUTCHours(0, 0, 0, 0));

const rows = (description: string, otherwise: number): Input<number> =>
  defaulted('<n>', description, otherwise, { parse: wholeNumberUpTo(MOST_ROWS) });

export const seedCommand = databaseCommand({
  summary: 'fill the database with made-up data',
  description:
    'Adds made-up users, games and image posts, with tags, favorites, likes and dislikes, in English, Japanese, Chinese ' +
    'and Korean. The same options, including --until, give the same data on every database and machine.',
  input: {
    games: rows('how many games', 1000),
    images: rows('how many image posts', 200),
    users: rows('how many users; with 0, existing users publish', 100),
    randomSeed: defaulted('<n>', 'a number; a different one gives different data', 1, {
      parse: wholeNumberUpTo(Number.MAX_SAFE_INTEGER),
    }),
    until: defaulted('<date>', 'the data is published in the two years before this date (UTC)', today(), {
      parse: parseDay,
      shown: 'today',
    }),
  },
  examples: ['', '--games 100000 --images 20000 --users 10000 --random-seed 7 --until 2026-04-01'],
  run: async (db, options) => {
    const { users, games, images, randomSeed, until } = options;
    const began = currentTime();
    const { seed } = await import('../../../sandbox/seed/service.ts');
    await withProgress(users + games + images, (onStored) => seed(db, options, onStored));
    await db.transaction((tx) =>
      record(tx, systemActor(), { action: 'seed', subject: 'made-up data', after: options }),
    );
    const seconds = ((currentTime() - began) / 1000).toFixed(1);
    print(
      `Stored ${counted(users, 'user')}, ${counted(games, 'game')} and ${counted(images, 'image post')} in ${seconds} s ` +
        `(--random-seed ${randomSeed} --until ${until.toISOString().slice(0, 10)}).`,
    );
  },
});
