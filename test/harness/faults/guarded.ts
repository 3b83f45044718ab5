import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

// Ends with whoever started it, were that killed.
const GUARD = `
  exec 3<&0
  "$@" </dev/null 3<&- >&2 & server=$!
  echo $server
  exec >/dev/null
  { cat <&3 >/dev/null; kill -9 $server; } 2>/dev/null & watch=$!
  wait $server 2>/dev/null
  kill $watch 2>/dev/null
`;

/** A process that ends when this one does, however that is. */
export interface Guarded {
  pid: number;
  /** What it has written so far to both outputs, the last of it. */
  words(): string;
  isRunning(): boolean;
  /** Resolves when it has ended. */
  ended: Promise<unknown>;
  /** Sends it a signal. */
  signal(signal: NodeJS.Signals): void;
}

/** Starts a program, as the user `uid` and group `gid` where given. */
export const startGuarded = async (
  command: string,
  args: readonly string[],
  { uid, gid, cwd, env }: { uid?: number; gid?: number; cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<Guarded> => {
  const guard = spawn('sh', ['-c', GUARD, 'guard', command, ...args], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(uid !== undefined && { uid, gid }),
    ...(cwd !== undefined && { cwd }),
    ...(env !== undefined && { env }),
  });
  let words = '';
  guard.stderr.setEncoding('utf8').on('data', (chunk: string) => (words = (words + chunk).slice(-3000)));
  const ended = once(guard, 'exit');
  const [pid] = (await once(createInterface(guard.stdout), 'line')) as [string];
  const guarded: Guarded = {
    pid: Number(pid),
    words: () => words,
    isRunning: () => guard.exitCode === null && guard.signalCode === null,
    ended,
    signal: (signal) => {
      process.kill(Number(pid), signal);
    },
  };
  return guarded;
};

/** Whether a process is stopped by SIGSTOP. */
export const isFrozen = (pid: number): boolean => /\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
