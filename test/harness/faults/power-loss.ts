import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopAfterTest } from './running.ts';

// What a machine without power leaves of files: all that the disk was asked to take, and said that it had, and of what was
// written since whatever it likes.

/** A piece of a file that was written. */
export interface Write {
  /** When it was done, in the order of what was recorded. */
  turn: number;
  path: string;
  at: number;
  length: number;
}

/** What a process wrote, and which of it the disk need not have. */
export interface Recorded {
  writes: readonly Write[];
  unsynced: readonly Write[];
}

const WRITE = /pwrite64\(\d+<([^>]+)>, .*, (\d+), (\d+)(?: <unfinished|\) += \d+)/;
const SYNC = /f(?:data)?sync\(\d+<([^>]+)>(?: <unfinished|\) += 0)/;
const RESUMED = /<\.\.\. \w+ resumed>.*\) += \d+/;

/** Reads what strace has written of a process and its threads, in which calls may overlap. */
const readLog = (log: string): Recorded => {
  const writes: Write[] = [];
  /** By their files, the last turn that a sync has seen. */
  const synced = new Map<string, number>();
  /** What is done when the call ends that a thread is in. */
  const pending = new Map<string, () => void>();
  let turn = 0;
  for (const line of log.split('\n')) {
    turn += 1;
    const now = turn;
    const [thread = ''] = line.split(' ', 1);
    const [, path = '', length, at] = WRITE.exec(line) ?? SYNC.exec(line) ?? [];
    if (path !== '') {
      const isDone = !line.endsWith('<unfinished ...>');
      const end =
        length === undefined
          ? () => void synced.set(path, Math.max(synced.get(path) ?? 0, now))
          : () => void writes.push({ turn, path, at: Number(at), length: Number(length) });
      if (isDone) end();
      else pending.set(thread, end);
    } else if (RESUMED.test(line)) {
      pending.get(thread)?.();
      pending.delete(thread);
    }
  }
  return { writes, unsynced: writes.filter((write) => write.turn > (synced.get(write.path) ?? 0)) };
};

/** Records what a process writes to files, until it is stopped by the returned function. The process stays as it is then. */
export const recordDisk = async (pid: number): Promise<() => Promise<Recorded>> => {
  const folder = await mkdtemp(join(tmpdir(), 'content-gateway-strace-'));
  const log = join(folder, 'log');
  const calls = 'trace=pwrite64,fdatasync,fsync';
  const tracer = spawn('strace', ['-f', '-y', '-s', '0', '-p', String(pid), '-o', log, '-e', calls], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  stopAfterTest(() => void tracer.kill('SIGKILL'));
  const ended = once(tracer, 'exit');
  await once(createInterface(tracer.stderr), 'line');
  return async () => {
    process.kill(pid, 'SIGSTOP');
    // Until each of its threads has stopped.
    await sleep(100);
    tracer.kill('SIGTERM');
    await ended;
    const text = await readFile(log, 'utf8');
    await rm(folder, { recursive: true });
    return readLog(text);
  };
};

const overwriteWithZeros = async (path: string, { at, length }: Write): Promise<void> => {
  const file = await open(path, 'r+');
  await file.write(Buffer.alloc(length), 0, length, at);
  await file.close();
};

/** Copies files to a new folder as the disk may hold them when each of `lost` never came there. Returns the first one's path. */
export const copyWithout = async (
  files: readonly string[],
  lost: readonly Write[],
  folder: string,
): Promise<string> => {
  const copyOf = (path: string): string => join(folder, basename(path));
  await mkdir(folder);
  for (const file of files) await copyFile(file, copyOf(file));
  for (const write of lost) if (files.includes(write.path)) await overwriteWithZeros(copyOf(write.path), write);
  return copyOf(files[0] ?? '');
};

const SECTOR = 512;

/** Of what the disk need not have, what it does not: some is there, some is not, and some is torn. */
export const someOf = (unsynced: readonly Write[], random: () => number): Write[] =>
  unsynced.flatMap((write) => {
    const kept = Math.floor(random() * 3) * Math.ceil(write.length / SECTOR / 2) * SECTOR;
    return kept >= write.length ? [] : [{ ...write, at: write.at + kept, length: write.length - kept }];
  });
