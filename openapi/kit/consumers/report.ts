import { attributes, escaped } from '../conformance/report/junit.ts';
import { type AffectedConsumer, type Impact, isBroken, isUnknown } from './impact.ts';

/** A change in words, for people. */
const changeText = ({ operation, where, expected, came }: Impact): string =>
  `${operation}, ${where}: ${expected}, now ${came}`;

const usedText = ({ parts, lastDay }: AffectedConsumer): string => {
  if (lastDay === undefined) return parts.length > 0 ? `needs ${parts.join(' ')}` : 'calls it';
  return parts.length > 0 ? `last sent ${parts.join(' ')} on ${lastDay}` : `last called it on ${lastDay}`;
};

/** A consumer that a change breaks, in words: the parts that it uses, and its tests, or the day and the client. */
const affectedText = (affected: AffectedConsumer): string => {
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

/** A change of one place in the document, with all operations that have a part there. */
export interface DocumentChange {
  verdict: 'BREAKS' | 'unsure' | 'nobody';
  impacts: [Impact, ...Impact[]];
}

const VERDICTS = ['BREAKS', 'unsure', 'nobody'] as const;
const verdictOf = (impact: Impact): DocumentChange['verdict'] =>
  isBroken(impact) ? 'BREAKS' : isUnknown(impact) ? 'unsure' : 'nobody';

/** The changes of the document behind impacts: one change there may affect many operations. */
export const changesOf = (impacts: readonly Impact[]): DocumentChange[] => {
  const changes = new Map<string, DocumentChange>();
  for (const impact of impacts) {
    const { node, expected, came } = impact;
    const name = JSON.stringify([node, expected, came]);
    const known = changes.get(name);
    known?.impacts.push(impact);
    const verdicts = [verdictOf(impact), ...(known ? [known.verdict] : [])];
    const verdict = VERDICTS.find((one) => verdicts.includes(one)) ?? 'nobody';
    changes.set(name, { verdict, impacts: known?.impacts ?? [impact] });
  }
  return [...changes.values()];
};

const union = (...lists: (readonly string[] | undefined)[]): string[] => [
  ...new Set(lists.flatMap((one) => one ?? [])),
];

/** The consumers that several impacts of one change affect, each once, with the operations in question. */
const concernedBy = (
  impacts: readonly Impact[],
  side: 'affected' | 'anonymous',
): { one: AffectedConsumer; operations: string[] }[] => {
  const all = new Map<string, { one: AffectedConsumer; operations: string[] }>();
  for (const { operation, [side]: consumers } of impacts) {
    for (const one of consumers) {
      const name = JSON.stringify([one.consumer, one.userId]);
      const { one: known, operations } = all.get(name) ?? { one, operations: [] };
      const lastDay = [known.lastDay, one.lastDay]
        .filter((day) => day !== undefined)
        .toSorted()
        .at(-1);
      const parts = union(known.parts, one.parts);
      const tests = union(known.tests, one.tests);
      all.set(name, {
        one: { ...known, parts, tests, ...(lastDay !== undefined && { lastDay }) },
        operations: union(operations, [operation]),
      });
    }
  }
  return [...all.values()];
};

/** A change of the document in a line, then a line for each affected consumer. */
export const linesOf = ({ verdict, impacts }: DocumentChange): string[] => {
  const [first] = impacts;
  const isOne = impacts.length === 1;
  const isOfOne = impacts.every(({ operation }) => operation === first.operation);
  const told = ({ one, operations }: ReturnType<typeof concernedBy>[number]) =>
    isOfOne ? affectedText(one) : `${affectedText(one)}; by ${operations.join(', ')}`;
  return [
    `${verdict}  ${isOne ? changeText(first) : `${first.node}, in ${impacts.length} places: ${first.expected}, now ${first.came}`}`,
    ...concernedBy(impacts, 'affected').map((one) => `          ${told(one)}`),
    ...concernedBy(impacts, 'anonymous').map((one) => `          (anonymous: ${told(one)})`),
  ];
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
