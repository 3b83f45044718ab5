import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import { type Environment, type Outcome, withoutDatabase } from './program.ts';

let last: Promise<unknown> = Promise.resolve();

/** Takes the place of an output; `texts` is what was written to it. */
const collect = () => {
  const texts: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write: (text: string, _, done) => {
      texts.push(text);
      done();
    },
  });
  return { stream, texts };
};

/** Sets properties of `process` while `work` runs. */
const withProcess = async (properties: Partial<NodeJS.Process>, work: () => Promise<unknown>): Promise<void> => {
  const own = Object.keys(properties).map((name) => [name, Object.getOwnPropertyDescriptor(process, name)!] as const);
  for (const [name, value] of Object.entries(properties)) {
    Object.defineProperty(process, name, { value, configurable: true, enumerable: true, writable: true });
  }
  try {
    await work();
  } finally {
    for (const [name, descriptor] of own) Object.defineProperty(process, name, descriptor);
  }
};

const run = async (args: readonly string[], env: Environment): Promise<Outcome> => {
  const [stdout, stderr] = [collect(), collect()];
  let code: Outcome['code'] = null;
  await withProcess(
    {
      argv: [process.execPath, 'cli.js', ...args],
      env,
      stdout: stdout.stream as unknown as NodeJS.Process['stdout'],
      stderr: stderr.stream as unknown as NodeJS.Process['stderr'],
    },
    async () => {
      // Another query makes it another module, which runs again; what it imports is loaded once.
      await import(`../../../src/admin/command-line.ts?run=${randomUUID()}`);
      code = Number(process.exitCode ?? 0);
    },
  );
  process.exitCode = undefined;
  return { code, stdout: stdout.texts.join(''), stderr: stderr.texts.join('') };
};

/** As `runCommand`, with all that was written. */
export const collected = (args: readonly string[], env: Environment = {}): Promise<Outcome> => {
  const outcome = last.then(() => run(args, env));
  last = outcome.catch(() => undefined);
  return outcome;
};

/**
 * Runs the command line to its end within this process, one after the other: a process of its own would spend half a
 * second of the processor on its start. What depends on being one is for `runCli`.
 */
export const runCommand = async (
  args: readonly string[],
  { env = {} }: { env?: Environment } = {},
): Promise<Outcome> => {
  const { stderr, ...outcome } = await collected(args, env);
  return { ...outcome, stderr: withoutDatabase(stderr) };
};
