import { attributes, escaped } from '../conformance/report/junit.ts';
import type { AffectedConsumer, Impact } from './impact.ts';

/** A change in words, for people. */
export const changeText = ({ operation, where, expected, came }: Impact): string =>
  `${operation}, ${where}: ${expected}, now ${came}`;

const usedText = ({ parts, lastDay }: AffectedConsumer): string => {
  if (lastDay === undefined) return parts.length > 0 ? `needs ${parts.join(' ')}` : 'calls it';
  return parts.length > 0 ? `last sent ${parts.join(' ')} on ${lastDay}` : `last called it on ${lastDay}`;
};

/** A consumer that a change breaks, in words: what it uses, and by which test, or when and with which client. */
export const affectedText = (affected: AffectedConsumer): string => {
  const { consumer, userId, key, clients = [], tests = [] } = affected;
  const name = key ? `${consumer}, "${key.name}"` : consumer;
  const owner = key?.userId ?? userId;
  return [
    owner === undefined ? name : `${name} of user ${owner}`,
    usedText(affected),
    ...(clients.length > 0 ? [`with ${clients.join(', ')}`] : []),
    ...tests.map((test) => `in "${test}"`),
  ].join('; ');
};

/** The impacts as JUnit XML: a case for each consumer, whose failure names each change that breaks it. */
export const junitOf = (impacts: readonly Impact[], names: readonly string[]): string => {
  const cases = names.map((name) => {
    const lines = impacts.flatMap((impact) =>
      impact.affected
        .filter(({ consumer }) => consumer === name)
        .map((affected) => `${changeText(impact)} (${affectedText(affected)})`),
    );
    const failure = `<failure${attributes({ message: lines[0] ?? '' })}>${escaped(lines.join('\n'))}</failure>`;
    return { name, failure: lines.length > 0 ? failure : '' };
  });
  const totals = { tests: cases.length, failures: cases.filter(({ failure }) => failure !== '').length };
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes({ name: 'can-i-deploy', ...totals })}>`,
    `  <testsuite${attributes({ name: 'consumers', ...totals })}>`,
    ...cases.map(
      ({ name, failure }) => `    <testcase${attributes({ classname: 'consumers', name })}>${failure}</testcase>`,
    ),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
};
