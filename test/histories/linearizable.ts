import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll } from '@jest/globals';
import { creationsIn, type Entry, readsIn } from './history.ts';

declare global {
  var TEST_GO: string;
}

const SOURCES = fileURLToPath(new URL('checker', import.meta.url));

/** What the checker found: how much it looked at, and in words each history that no order explains. */
export interface Verdict {
  histories: number;
  operations: number;
  unexplained: number;
  undecided: number;
  words: string;
}

const run = async (command: string, args: readonly string[], input: Iterable<string> = []) => {
  const child = spawn(command, args, { cwd: SOURCES });
  const ended = once(child, 'close') as Promise<[number | null]>;
  const outputs = Promise.all([text(child.stdout), text(child.stderr)]);
  child.stdin.on('error', () => undefined);
  for (const line of input) if (!child.stdin.write(line)) await Promise.race([once(child.stdin, 'drain'), ended]);
  child.stdin.end();
  const [[code], [stdout, stderr]] = await Promise.all([ended, outputs]);
  return { code, stdout, stderr };
};

/** The records that a user has toggled something on: an erasure takes the favorites and reactions back. */
const toggledBy = (history: readonly Entry[], user: string): Set<string> =>
  new Set(
    history.flatMap(({ operation, record = '', ...entry }) =>
      entry.user === user && operation.includes('.toggle') ? record : [],
    ),
  );

/** The records of a user: an erasure removes them. */
const publishedBy = (history: readonly Entry[], user: string): string[] =>
  history.flatMap(creationsIn).flatMap(({ record, ...entry }) => (entry.user === user ? (record ?? []) : []));

/** What the program reads: an entry for each record that one tells of. */
function* linesOf(history: readonly Entry[]): Iterable<string> {
  for (const entry of history) {
    const toTell =
      entry.operation === 'erasure'
        ? [
            ...[...toggledBy(history, entry.user)].map((record) => ({ ...entry, record })),
            ...publishedBy(history, entry.user).map((record) => ({ ...entry, operation: 'removal', record })),
          ]
        : [...(entry.operation.endsWith('.batchCreate') ? creationsIn(entry) : readsIn(entry))];
    for (const one of toTell) yield `${JSON.stringify({ ...one, events: undefined, walked: undefined })}\n`;
  }
}

let folder: Promise<string> | undefined;
afterAll(async () => {
  if (folder) await rm(await folder, { recursive: true });
});

/** Compiles the checker, once in a test file. Returns its folder. @throws Error with the compiler's words */
const build = async (): Promise<string> => {
  const made = await mkdtemp(join(tmpdir(), 'content-gateway-checker-'));
  const args = ['build', '-mod=readonly', '-buildvcs=false', '-o', join(made, 'checker'), '.'];
  const { code, stderr } = await run(globalThis.TEST_GO, args);
  if (code !== 0) throw new Error(`The checker does not compile:\n${stderr}`);
  return made;
};

/** Searches for an order of the operations on each record and user, by the program in checker/. @throws Error with its words */
export const searchOrders = async (history: readonly Entry[]): Promise<Verdict> => {
  folder ??= build();
  const { code, stdout, stderr } = await run(join(await folder, 'checker'), [], linesOf(history));
  if (code === null || code > 2) throw new Error(`The checker ended with status ${code}:\n${stderr}`);
  return { ...(JSON.parse(stdout) as Omit<Verdict, 'words'>), words: stderr };
};
