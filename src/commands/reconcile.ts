import { Command } from 'commander';
import { readConfig } from '../config.ts';
import { countRowsToCompare, type Finding, reconcile } from '../reconcile/service.ts';
import { examples, PROGRAM, withDatabase } from './common.ts';
import { note, print, printTable } from './output.ts';
import { withProgress } from './progress.ts';

const printFindings = (findings: readonly Finding[]): void => {
  printTable(
    ['COUNTER', 'ID', 'STORED', 'ACTUAL'],
    findings.flatMap(({ samples }) =>
      samples.map(({ what, id, stored, actual }) => [what, id, String(stored), String(actual)]),
    ),
  );
  print('', ...findings.map(({ what, total, samples }) => `${what}: ${total} wrong, ${samples.length} shown`));
};

export const reconcileCommand = (): Command =>
  new Command('reconcile')
    .summary('check that every stored counter is right')
    .description(
      'Compares each stored counter (likes, dislikes, favorites; games and image posts of tags, of users, of types and ' +
        'in all) with the rows it stands for, and prints those that differ. The exit status is 1 if any does and was ' +
        'not corrected. Safe while the service runs.',
    )
    .option('--fix', 'correct the counters that differ')
    .addHelpText('after', examples('reconcile', 'reconcile --fix'))
    .action(({ fix = false }: { fix?: true | false }) =>
      withDatabase(readConfig(), async (db) => {
        const findings = await withProgress(await countRowsToCompare(db), (onCompared) =>
          reconcile(db, { fix, onCompared }),
        );
        if (findings.length === 0) {
          print('Every counter is right.');
          return;
        }
        printFindings(findings);
        if (fix) print('All corrected.');
        else {
          note(`Correct them with: ${PROGRAM} reconcile --fix`);
          process.exitCode = 1;
        }
      }),
    );
