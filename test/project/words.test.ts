/**
 * @engines none
 * @tier fast
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { files, isIn } from './imports.ts';

/** Words that names had before they were the field's, and the word to take. */
const retired: Readonly<Record<string, string>> = {
  arrival: 'request context',
  coalesce: 'load in batches',
  coalescer: 'batch loader',
  door: 'transport, route',
  doomed: 'to delete',
  edge: 'server limits',
  enliven: 'activate',
  farewell: 'close grace',
  haste: 'settings',
  hear: 'accept, on…',
  hears: 'is called with',
  lane: 'workload, pool, limiter',
  lanes: 'workloads, pools, limiters',
  mend: 'repair',
  orphaned: 'foreign key error',
  recognise: 'authenticate',
  repeatable: 'idempotent',
  sojourn: 'queue time',
  standing: 'status',
  standings: 'statuses',
  strangers: 'dangling references',
  suspicion: 'suspect',
  unsent: 'slow readers',
  visitor: 'session',
};

/** Phrases that stand in for a subject or a verb: "what is …" begins a sentence without saying what. */
const PHRASES =
  /\b(whoever|nobody|somebody|everybody|anybody|hears?|heard|so many|those who|has \w+ do)\b|(?:^|\*\s|\/\/\s|\.\s)(What|Who|Whose|Whatever|Those|Likewise)\b/im;

const COMMENT = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm;
const TEXT = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g;

const ours = files.filter((file) => !isIn(file, 'test'));

/** `rateLimitHeaders` → `rate`, `limit`, `headers` */
const wordsOf = (name: string): string[] => name.split(/(?=[A-Z])|[_./-]/).map((word) => word.toLowerCase());

const faultsIn = (file: string, names: Iterable<string>): string[] =>
  [...names].flatMap((name) =>
    wordsOf(name)
      .filter((word) => Object.hasOwn(retired, word))
      .map((word) => `${file}: ${name}: for "${word}" take ${retired[word]}`),
  );

describe('names', () => {
  test('of files and folders are the field’s', () => {
    expect(ours.flatMap((file) => faultsIn(file, [file]))).toEqual([]);
  });

  test('of identifiers are the field’s', () => {
    const faults = ours.flatMap((file) => {
      const code = readFileSync(file, 'utf8').replaceAll(COMMENT, '').replaceAll(TEXT, "''");
      return faultsIn(file, new Set(code.match(/[A-Za-z_$][\w$]*/g)));
    });
    expect(faults).toEqual([]);
  });
});

describe('comments', () => {
  test('say who does what: no phrase stands in for a subject', () => {
    const faults = ours.flatMap((file) =>
      (readFileSync(file, 'utf8').match(COMMENT) ?? [])
        .filter((comment) => PHRASES.test(comment))
        .map((comment) => `${file}: ${comment}`),
    );
    expect(faults).toEqual([]);
  });
});
