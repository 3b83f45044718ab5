import { spawn } from 'node:child_process';
import { once } from 'node:events';

const LAST_LINES = 40;

const tailOf = (output) => output.trimEnd().split('\n').slice(-LAST_LINES).join('\n');

/** Starts lines of a shell as a runner does, in a process group of their own. `output()` is what they have printed. */
const start = (lines, { cwd, env }) => {
  const child = spawn('bash', ['-e', '-o', 'pipefail', '-c', lines], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const heed = (text) => {
    output += text;
  };
  child.stdout.setEncoding('utf8').on('data', heed);
  child.stderr.setEncoding('utf8').on('data', heed);
  return { child, ended: once(child, 'close'), output: () => output };
};

const endGroup = ({ pid }, signal) => {
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended.
  }
};

/**
 * Runs lines of a shell to their end, and whatever they leave in the background.
 *
 * @param options `cwd`, `env`, `seconds` (they are ended after so many), `statuses` that are well (default: 0)
 * @returns `output`, what they printed on both streams, and their `status`
 * @throws Error with the last lines printed
 */
export const run = async (lines, { cwd, env, seconds = 600, statuses = [0] }) => {
  const { child, ended, output } = start(lines, { cwd, env });
  const timer = setTimeout(() => endGroup(child, 'SIGKILL'), seconds * 1000);
  // What runs in the background holds the streams open, so that `close` would wait for it.
  const [status, signal] = await once(child, 'exit');
  clearTimeout(timer);
  endGroup(child, 'SIGTERM');
  await ended;
  if (statuses.includes(status)) return { output: output(), status };
  throw new Error(`ended with ${signal ?? `status ${status}`}:\n${lines.trimEnd()}\n\n${tailOf(output())}`);
};

/**
 * Starts lines of a shell that serve something, and waits until they print what matches.
 *
 * @returns `found`, the first group of what matched; `output()`; and `stop(signal)`, which ends them and returns the
 *   signal that did
 */
export const serve = async (lines, pattern, options) => {
  const { child, ended, output } = start(lines, options);
  const found = await new Promise((resolve, reject) => {
    const look = () => {
      const match = pattern.exec(output());
      if (match) resolve(match[1]);
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
    child.once('exit', () => reject(new Error(`ended before it served:\n${lines.trimEnd()}\n\n${tailOf(output())}`)));
  });
  return {
    found,
    output,
    stop: async (signal = 'SIGTERM') => {
      endGroup(child, signal);
      await ended;
      return child.signalCode;
    },
  };
};
