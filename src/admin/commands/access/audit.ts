import { Command } from 'commander';
import { currentDate } from '../../../base/runtime.ts';
import { listActs } from '../../../auth/audit/log.ts';
import { examples, readSettings, withDatabase } from '../shared/common.ts';
import { type Filtered, withFilters } from '../shared/filters.ts';
import { printJsonLines, printTable } from '../shared/output.ts';

const list = (): Command =>
  withFilters(
    new Command('list')
      .summary('list who did what')
      .description(
        'Lists what was done by this command line, oldest first: when (UTC), by which system user on which machine, which ' +
          'command, and to what. --json also shows what was before and after. Entries are kept for AUDIT_RETENTION_DAYS.',
      ),
    ['since', 'subject', 'actor', 'action'],
  )
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText('after', examples('audit list --since 7d', 'audit list --actor maru --action games --json'))
    .action(({ since, json, ...wanted }: Filtered & { json?: true }) =>
      withDatabase(readSettings(), async (db) => {
        const rows: string[][] = [];
        for await (const entries of listActs(db, since?.(currentDate()), wanted)) {
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
