import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterAll } from '@jest/globals';
import { WEBHOOK_KEY } from './webhook-key.ts';
import { expectNoSecrets } from '../documents/secrets.ts';

/** The program as operators run it: setup/build.ts has compiled it for this run. */
export const PROGRAM = fileURLToPath(new URL('../../../dist/src/cli.js', import.meta.url));

/** Settings for the program, which sees no others: those of the machine must not reach the tests. */
export type Environment = Record<string, string>;

export interface Outcome {
  /** The exit status, null after a signal. */
  code: number | null;
  stdout: string;
  /** Without the database: see `withoutDatabase`. */
  stderr: string;
}

/** The service in a process of its own. */
export interface ServeProcess {
  /** `http://127.0.0.1:<port>` */
  base: string;
  child: ChildProcessWithoutNullStreams;
  /**
   * Sends a signal, unless the process has ended, and resolves with its exit status: null after a signal.
   * @throws Error when its log holds what is nobody's business
   */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** What it has written so far, to both outputs. */
  output(): string;
  /** What it has written so far to the standard error. */
  log(): string;
}

/** What a command says, but for the database it works on, which is another one in each test. */
export const withoutDatabase = (stderr: string): string => stderr.replace(/^database: .*\n/m, '');

const running = new Set<ChildProcessWithoutNullStreams>();

// A test that failed halfway leaves no process behind.
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts the program; the caller reads its outputs. */
export const startCli = (
  args: readonly string[],
  env: Environment = {},
  // Elsewhere than in the repository, whose data/content.db is the developer's.
  cwd = tmpdir(),
  program = PROGRAM,
): ChildProcessWithoutNullStreams => {
  const child = spawn(process.execPath, [program, ...args], { cwd, env });
  running.add(child);
  child.once('exit', () => running.delete(child));
  child.stdout.setEncoding('utf8');
  child.stderr.setEncoding('utf8');
  // Not every command reads what it is given.
  child.stdin.on('error', () => undefined);
  return child;
};

/** Runs the program to its end. */
export const runCli = async (
  args: readonly string[],
  { env, input = '', cwd, program }: { env?: Environment; input?: string; cwd?: string; program?: string } = {},
): Promise<Outcome> => {
  const child = startCli(args, env, cwd, program);
  const outcome: Outcome = { code: null, stdout: '', stderr: '' };
  child.stdout.on('data', (text: string) => (outcome.stdout += text));
  child.stderr.on('data', (text: string) => (outcome.stderr += text));
  child.stdin.end(input);
  [outcome.code] = (await once(child, 'close')) as [number | null];
  return { ...outcome, stderr: withoutDatabase(outcome.stderr) };
};

/**
 * Starts the service on a free port with the database `url`, migrated first, and resolves when it listens.
 * @throws Error with the program's own words when it ends before
 */
export const startServe = ({
  url,
  env,
  program,
}: {
  url: string;
  env?: Environment;
  /** Another version. */
  program?: string;
}): Promise<ServeProcess> =>
  start(
    ['serve'],
    { DATABASE_URL: url, AUTO_MIGRATE: 'true', WEBHOOK_SECRET_KEY: WEBHOOK_KEY, ...env },
    undefined,
    program,
  );

/** Starts the service with the default database below `folder`. */
export const startByDefault = (folder: string): Promise<ServeProcess> => start(['serve'], {}, folder);

/** Starts the sandbox, likewise. */
export const startSandbox = (): Promise<ServeProcess> => start(['serve', '--sandbox'], {});

const start = async (
  args: readonly string[],
  env: Environment,
  cwd?: string,
  program?: string,
): Promise<ServeProcess> => {
  const child = startCli(args, { HOST: '127.0.0.1', PORT: '0', RATE_LIMIT: 'off', ...env }, cwd, program);
  const ended = once(child, 'close') as Promise<[number | null]>;
  let output = '';
  const listening = new Promise<string>((resolve) => {
    const read = (text: string): void => {
      output += text;
      const [, base] = /^ *Docs: +(http\S+)\/docs\/?$/m.exec(output) ?? [];
      if (base) resolve(base);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
  });
  let log = '';
  child.stderr.on('data', (text: string) => (log += text));
  const base = await Promise.race([listening, ended]);
  if (typeof base !== 'string') throw new Error(`serve ended with status ${base[0]}:\n${output}`);
  return {
    base,
    child,
    stop: async (signal = 'SIGTERM') => {
      if (running.has(child)) child.kill(signal);
      const [code] = await ended;
      expectNoSecrets(log);
      return code;
    },
    output: () => output,
    log: () => log,
  };
};
