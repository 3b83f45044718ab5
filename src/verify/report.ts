import { differenceOf, sentenceOf } from './finding.ts';
import type { Result } from './verify.ts';

type Outcome = Result['outcome'];

/** The parts of a list by what they have in common, in the order in which they come. */
export const groupBy = <T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> => {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
};

export const countOf = (results: readonly Result[], outcome: Outcome): number =>
  results.filter((result) => result.outcome === outcome).length;

export const HEADINGS = ['OPERATION', 'PASSED', 'FAILED', 'SKIPPED'];

/** A row for each operation. */
export const rowsOf = (results: readonly Result[]): string[][] =>
  [...groupBy(results, ({ subject }) => subject)].map(([subject, group]) => [
    subject,
    ...(['passed', 'failed', 'skipped'] as const).map((outcome) => String(countOf(group, outcome))),
  ]);

/** A line for each thing that is wrong with an operation, however many checks it spoils. */
export const failureLines = (results: readonly Result[]): string[] => {
  const failures = results.flatMap(({ subject, name, findings }) =>
    findings.map((finding) => ({ subject, name, finding, what: differenceOf(finding) })),
  );
  const groups = groupBy(failures, ({ subject, what }) => `${subject} ${what}`);
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (!first) return [];
    const more = others.length === 0 ? '' : `, likewise in ${others.length} more`;
    return [`FAILED ${first.subject}: ${first.name}${more}: ${sentenceOf(first.finding, first.subject)}`];
  });
};

/** A line for each cause of skipping, with the operations concerned. */
export const skipLines = (results: readonly Result[]): string[] => {
  const skipped = results.filter(({ outcome }) => outcome === 'skipped');
  return [...groupBy(skipped, ({ reason = '' }) => reason)].map(([reason, group]) => {
    const subjects = [...new Set(group.map(({ subject }) => subject))];
    return `SKIPPED ${group.length} of ${subjects.join(', ')}: ${reason}`;
  });
};

/** The end of the report. */
export const summaryOf = (results: readonly Result[], seconds: number): string =>
  `${results.length} checks: ${countOf(results, 'passed')} passed, ${countOf(results, 'failed')} failed, ` +
  `${countOf(results, 'skipped')} skipped, in ${seconds.toFixed(1)} s.`;
