import { systemActor } from '../../../auth/audit/log.ts';
import type { ReconcileFinding } from '../../reconcile/finding.ts';
import { countRowsToCompare, reconcile } from '../../reconcile/service.ts';
import { databaseCommand, flag } from '../shared/command.ts';
import { PROGRAM } from '../shared/common.ts';
import { note, print, printTable } from '../shared/output.ts';
import { withProgress } from '../shared/progress.ts';

const printFindings = (findings: readonly ReconcileFinding[]): void => {
  printTable(
    ['WHAT', 'ID', 'STORED', 'ACTUAL'],
    findings.flatMap(({ samples }) =>
      samples.map(({ field, id, stored, actual }) => [field, id, String(stored), String(actual)]),
    ),
  );
  print('', ...findings.map(({ field, total, samples }) => `${field}: ${total} wrong, ${samples.length} shown`));
};

export const reconcileCommand = databaseCommand({
  summary: 'check that what is stored twice agrees',
  description:
    'Compares each stored counter (likes, dislikes and favorites; games and image posts by tag, by user, by type and ' +
    'in total) with the rows that it counts, the tags, types and images that columns repeat with what they repeat, ' +
    'the search index with the records, and hidden records with those that are shown. Prints what differs. The exit status is 1 if anything differs and was ' +
    'not corrected. Safe while the service runs. With --fix, needed after an earlier version ran beside this one.',
  input: { fix: flag('correct what differs') },
  examples: ['', '--fix'],
  run: async (db, { fix }) => {
    const findings = await withProgress(await countRowsToCompare(db), (onCompared) =>
      reconcile(db, { fix, onCompared, by: systemActor() }),
    );
    if (findings.length === 0) {
      print('Everything is right.');
      return;
    }
    printFindings(findings);
    if (fix) print('All corrected.');
    else {
      note(`Correct them with: ${PROGRAM} reconcile --fix`);
      process.exitCode = 1;
    }
  },
});
