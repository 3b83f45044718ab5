import { sentenceOf } from '../findings/finding.ts';
import { countOf, groupBy, replayOf } from './text.ts';
import type { CheckResult } from '../verify.ts';

/** The characters that XML 1.0 cannot hold, not even escaped. */
const NOT_XML = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;
/** Line ends are also escaped, since parsers read those in attributes as spaces. */
const SPECIAL = /[&<>"'\t\n\r]/g;

export const escaped = (text: string): string =>
  text.replaceAll(NOT_XML, '\u{FFFD}').replaceAll(SPECIAL, (character) => `&#${character.charCodeAt(0)};`);

export const attributes = (values: Record<string, string | number>): string =>
  Object.entries(values)
    .map(([name, value]) => ` ${name}="${escaped(String(value))}"`)
    .join('');

const seconds = (results: readonly CheckResult[]): string =>
  (results.reduce((total, { ms }) => total + ms, 0) / 1000).toFixed(3);

const totals = (results: readonly CheckResult[]) => ({
  tests: results.length,
  failures: countOf(results, 'failed'),
  errors: 0,
  skipped: countOf(results, 'skipped'),
  time: seconds(results),
});

/** More findings of one check add nothing new. */
const MAX_FINDINGS = 5;

const contents = ({ subject, outcome, findings, reason = '' }: CheckResult, key: string | undefined): string => {
  if (outcome === 'passed') return '';
  if (outcome === 'skipped') return `<skipped${attributes({ message: reason })}/>`;
  const sentences = findings.slice(0, MAX_FINDINGS).map((finding) => sentenceOf(finding, subject));
  const more = findings.length - MAX_FINDINGS;
  const replay = findings[0] && replayOf(findings[0], key);
  const lines = [...sentences, ...(more > 0 ? [`and ${more} more`] : []), ...(replay === undefined ? [] : [replay])];
  return `<failure${attributes({ message: sentences[0] ?? '' })}>${escaped(lines.join('\n'))}</failure>`;
};

const testcase = (result: CheckResult, key: string | undefined): string => {
  const { subject, name } = result;
  return `    <testcase${attributes({ classname: subject, name, time: seconds([result]) })}>${contents(result, key)}</testcase>`;
};

/** The results as JUnit XML, as CI services read it: a suite for each operation, a case for each check. */
export const junitOf = (results: readonly CheckResult[], baseUrl: string, key?: string): string => {
  const suites = [...groupBy(results, ({ subject }) => subject)].flatMap(([name, group]) => [
    `  <testsuite${attributes({ name, ...totals(group) })}>`,
    ...group.map((result) => testcase(result, key)),
    '  </testsuite>',
  ]);
  const all = attributes({ name: `verify ${baseUrl}`, ...totals(results) });
  return ['<?xml version="1.0" encoding="UTF-8"?>', `<testsuites${all}>`, ...suites, '</testsuites>', ''].join('\n');
};
