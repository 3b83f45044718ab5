import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

/** Whether this machine lets us meddle with the system calls of our processes. */
export const canTrace = ((): boolean => {
  try {
    execFileSync('strace', ['-o', '/dev/null', '-e', 'trace=none', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/**
 * Has a system call of a running process, in all its threads, do something else (see `inject` in strace(1)), until the
 * returned function is called.
 */
export const inject = async (pid: number, call: string, what: string): Promise<() => Promise<void>> => {
  const tracer: ChildProcess = spawn(
    'strace',
    ['-f', '-p', String(pid), '-o', '/dev/null', '-e', `trace=${call}`, '-e', `inject=${call}:${what}`],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const ended = once(tracer, 'exit');
  let said = '';
  tracer.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
  while (!said.includes('attached')) {
    if (tracer.exitCode !== null) throw new Error(said);
    await sleep(20);
  }
  return async () => {
    tracer.kill('SIGTERM');
    await ended;
  };
};
