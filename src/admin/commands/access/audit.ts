import { Command, Option } from 'commander';
import { currentDate } from '../../../base/runtime.ts';
import { listActs } from '../../../auth/audit/log.ts';
import { type StartDate, parseStart } from '../shared/arguments.ts';
import { examples, readSettings, withDatabase } from '../shared/common.ts';
import { printJsonLines, printTable } from '../shared/output.ts';

const list = (): Command =>
  new Command('list')
    .summary('list who did what')
    .description(
      'Lists what was done by this command line, oldest first: when (UTC), by which system user on which machine, which ' +
        'command, and to what. --json also shows what was before and after. Entries are kept for AUDIT_RETENTION_DAYS.',
    )
    .addOption(
      new Option(
        '--since <when>',
        'only from then on: a duration ago in days, hours, minutes or seconds (7d, 12h, 45m, 30s), a date in UTC ' +
          '(2026-04-01), or a time (2026-04-01T18:00:00Z) (default: all entries)',
      ).argParser(parseStart),
    )
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText('after', examples('audit list --since 7d', 'audit list --since 2026-04-01 --json'))
    .action(({ since, json }: { since?: StartDate; json?: true }) =>
      withDatabase(readSettings(), async (db) => {
        const rows: string[][] = [];
        for await (const entries of listActs(db, since?.(currentDate()))) {
          if (json) printJsonLines(entries);
          else
            rows.push(...entries.map(({ at, actor, action, subject }) => [at.toISOString(), actor, action, subject]));
        }
        if (!json) printTable(['TIME', 'WHO', 'WHAT', 'TO'], rows);
      }),
    );

export const auditCommand = (): Command =>
  new Command('audit')
    .summary('list who did what by this command line')
    .description('Lists the privileged acts that were done by this command line.')
    .addCommand(list());
