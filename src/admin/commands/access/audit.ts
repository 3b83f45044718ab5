import { currentDate } from '../../../base/runtime.ts';
import { listActs } from '../../../auth/audit/log.ts';
import { commandGroup, databaseCommand, jsonLines } from '../shared/command.ts';
import { filters } from '../shared/filters.ts';
import { printJsonLines, printTable } from '../shared/output.ts';

const { since: sinceFilter, subject, actor, action } = filters;

const list = databaseCommand({
  summary: 'list who did what',
  description:
    'Lists what was done by this command line, oldest first: when (UTC), by which system user on which machine, which ' +
    'command, and to what. --json also shows what was before and after. Entries are kept for AUDIT_RETENTION_DAYS.',
  input: { since: sinceFilter, subject, actor, action, json: jsonLines },
  examples: ['--since 7d', '--actor maru --action games --json'],
  run: async (db, { since, json, ...wanted }) => {
    const rows: string[][] = [];
    for await (const entries of listActs(db, since?.(currentDate()), wanted)) {
      if (json) printJsonLines(entries);
      else rows.push(...entries.map((one) => [one.at.toISOString(), one.actor, one.action, one.subject]));
    }
    if (!json) printTable(['TIME', 'WHO', 'WHAT', 'TO'], rows);
  },
});

export const auditCommand = commandGroup(
  'list who did what by this command line',
  'Lists the privileged acts that were done by this command line.',
  { list },
);
