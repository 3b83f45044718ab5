import { counted } from '../../../../contract/text.ts';
import { differenceOf, type Finding, sentenceOf } from '../findings/finding.ts';
import { type FindingGroup, type FindingPlace, groupsOf } from '../findings/groups.ts';
import { curlOf } from '../http/curl.ts';
import type { CheckResult } from '../verify.ts';
import type { Change } from '../document/change.ts';

const linesOfSome = (word: string, changes: readonly Change[]): string[] => {
  const places = changes.map(({ operation, where, expected, came }) => ({
    subject: operation,
    name: where,
    findings: [{ expected, came, at: where }],
  }));
  return groupsOf(places).flatMap((group) => [
    `${word} ${differenceOf(group.finding)}`,
    `  in ${shownBy(group.places, 'place')}`,
  ]);
};

/** Two lines for each change that is not known to break a client: its difference, and its places. */
export const changeLines = (changes: readonly Change[]): string[] => {
  const others = changes.filter(({ breaks }) => !breaks);
  return [
    ...linesOfSome(
      'CANNOT TELL',
      others.filter(({ unsure }) => unsure),
    ),
    ...linesOfSome(
      'NOTE',
      others.filter(({ unsure }) => !unsure),
    ),
  ];
};

type OutcomeText = CheckResult['outcome'];

/** The maximum number of checks named for a fault. */
const NAMED = 5;

/** The elements of a list by a common key, in their order. */
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

export const countOf = (results: readonly CheckResult[], outcome: OutcomeText): number =>
  results.filter((result) => result.outcome === outcome).length;

export const HEADINGS = ['OPERATION', 'PASSED', 'FAILED', 'SKIPPED'];

/** A row for each operation. */
export const rowsOf = (results: readonly CheckResult[]): string[][] =>
  [...groupBy(results, ({ subject }) => subject)].map(([subject, group]) => [
    subject,
    ...(['passed', 'failed', 'skipped'] as const).map((outcome) => String(countOf(group, outcome))),
  ]);

/** The first few of a list, and the number of the others. */
const named = (names: readonly string[]): string => {
  const more = names.length - NAMED;
  return [...names.slice(0, NAMED), ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
};

/** The number of checks that show a fault, and their operations. */
export const shownBy = (places: readonly FindingPlace[], what = 'check'): string => {
  const subjects = new Set(places.map(({ subject }) => subject));
  const names = places.map(({ subject, name }) => `${subject} ${name}`);
  return `${counted(places.length, what)} of ${counted(subjects.size, 'operation')}: ${named(names)}`;
};

/** The command that sends the request of a finding again. */
export const replayOf = ({ exchange }: Finding, key: string | undefined): string | undefined =>
  exchange && curlOf(exchange.request, key);

const linesOf = ({ finding, places }: FindingGroup, key: string | undefined): string[] => {
  const replay = replayOf(finding, key);
  return [
    `FAILED ${sentenceOf(finding, '')}`,
    `  shown by ${shownBy(places)}`,
    ...(replay === undefined ? [] : [`  ${replay}`]),
  ];
};

/** For each fault: the difference, the checks that show it, and a command that repeats the first of their requests. */
export const failureLines = (results: readonly CheckResult[], key?: string): string[] =>
  groupsOf(results).flatMap((group) => linesOf(group, key));

/** The causes of skipping, each with the number of skipped checks, and their operations. */
export const skipsOf = (
  results: readonly CheckResult[],
): { reason: string; checks: number; operations: string[] }[] => {
  const skipped = results.filter(({ outcome }) => outcome === 'skipped');
  return [...groupBy(skipped, ({ reason = '' }) => reason)].map(([reason, group]) => ({
    reason,
    checks: group.length,
    operations: [...new Set(group.map(({ subject }) => subject))],
  }));
};

/** A line for each cause of skipping. */
export const skipLines = (results: readonly CheckResult[]): string[] =>
  skipsOf(results).map(({ reason, checks, operations }) => `SKIPPED ${checks} of ${operations.join(', ')}: ${reason}`);

/** The end of the report. */
export const summaryOf = (results: readonly CheckResult[], seconds: number): string => {
  const faults = groupsOf(results).length;
  return (
    `${counted(results.length, 'check')}: ${countOf(results, 'passed')} passed, ${countOf(results, 'failed')} failed` +
    `${faults === 0 ? '' : ` for ${counted(faults, 'fault')}`}, ` +
    `${countOf(results, 'skipped')} skipped, in ${seconds.toFixed(1)} s.`
  );
};
