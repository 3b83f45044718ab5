import { Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { currentDate, currentTime } from '../../../base/runtime.ts';
import { record, systemActor } from '../../../auth/audit/log.ts';
import type { SeedOptions } from '../../../sandbox/seed/records.ts';
import { wholeNumberUpTo } from '../shared/arguments.ts';
import { examples, readSettings, withDatabase } from '../shared/common.ts';
import { print } from '../shared/output.ts';
import { withProgress } from '../shared/progress.ts';

const MOST_ROWS = 10_000_000;
const EARLIEST = '2000-01-01';

const parseDay = (text: string): Date => {
  if (z.iso.date().safeParse(text).success && text >= EARLIEST) return new Date(text);
  throw new InvalidArgumentError(`It must be a date from ${EARLIEST} on, such as 2026-04-01.`);
};

const today = (): Date => new Date(currentDate().setUTCHours(0, 0, 0, 0));

const rowsOption = (flags: string, description: string, byDefault: number): Option =>
  new Option(flags, description).argParser(wholeNumberUpTo(MOST_ROWS)).default(byDefault);

export const seedCommand = (): Command =>
  new Command('seed')
    .summary('fill the database with made-up data')
    .description(
      'Adds made-up users, games and image posts, with tags, favorites, likes and dislikes, in English, Japanese, Chinese ' +
        'and Korean. The same options, including --until, give the same data on every database and machine.',
    )
    .addOption(rowsOption('--games <n>', 'how many games', 1000))
    .addOption(rowsOption('--images <n>', 'how many image posts', 200))
    .addOption(rowsOption('--users <n>', 'how many users; with 0, existing users publish', 100))
    .addOption(
      new Option('--random-seed <n>', 'a number; a different one gives different data')
        .argParser(wholeNumberUpTo(Number.MAX_SAFE_INTEGER))
        .default(1),
    )
    .addOption(
      new Option('--until <date>', 'the data is published in the two years before this date (UTC)')
        .argParser(parseDay)
        .default(today(), 'today'),
    )
    .addHelpText(
      'after',
      examples('seed', 'seed --games 100000 --images 20000 --users 10000 --random-seed 7 --until 2026-04-01'),
    )
    .action((options: SeedOptions) =>
      withDatabase(readSettings(), async (db) => {
        const { users, games, images, randomSeed, until } = options;
        const began = currentTime();
        const { seed } = await import('../../../sandbox/seed/service.ts');
        await withProgress(users + games + images, (onStored) => seed(db, options, onStored));
        const act = { action: 'seed', subject: 'made-up data', after: options };
        await db.transaction((tx) => record(tx, systemActor(), act));
        const seconds = ((currentTime() - began) / 1000).toFixed(1);
        print(
          `Stored ${users} users, ${games} games and ${images} image posts in ${seconds} s ` +
            `(--random-seed ${randomSeed} --until ${until.toISOString().slice(0, 10)}).`,
        );
      }),
    );
