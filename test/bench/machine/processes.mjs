import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';

const children = new Set();
const folders = new Set();

// Whatever ends the bench, no process and no copy of a database stays behind.
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));

/** Removes a folder when the bench ends, at the latest. */
export const removeAtEnd = (folder) => {
  folders.add(folder);
  return folder;
};

/** Starts a process that does not outlive the bench. `ended` resolves with its exit code and signal. */
export const start = (command, args, options) => {
  const child = spawn(command, args, options);
  children.add(child);
  const ended = once(child, 'exit').then(([code, signal]) => {
    children.delete(child);
    return { code, signal };
  });
  return { child, ended };
};

/** Asks a process to end, and waits until it has. */
export const stop = async ({ child, ended }, signal = 'SIGTERM') => {
  child.kill(signal);
  await ended;
};

/** Runs a process to its end, with its outputs where ours are. @throws Error if it fails */
export const run = async (command, args, options = {}) => {
  const { ended } = start(command, args, { stdio: ['ignore', 'inherit', 'inherit'], ...options });
  const { code, signal } = await ended;
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${signal ?? `status ${code}`}`);
};
