import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { start } from '../machine/processes.mjs';

const TICKS_PER_SECOND = 100;
/** Where utime stands in /proc/<pid>/stat, behind the name of the program, which may hold anything; stime follows. */
const UTIME = 11;
const SAMPLE_MS = 100;
const MIB = 1024;

/** Seconds of CPU time that a process has used, with all threads that it had. */
const cpuSeconds = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
  return (Number(fields[UTIME]) + Number(fields[UTIME + 1])) / TICKS_PER_SECOND;
};

/** A value of /proc/<pid>/status in MiB. */
const mebibytes = (pid, name) =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / MIB;

/**
 * Runs a Node program to its end and watches it: its standard output, the seconds it took and its CPU time, the greatest
 * resident memory that the kernel knows of, and that of every second, in MiB; and the CPU time of a database server.
 * @throws Error if it fails
 */
export const runWatched = async (args, env, databasePid) => {
  const began = performance.now();
  const databaseBefore = databasePid && cpuSeconds(databasePid);
  const { child, ended } = start(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
  const closed = once(child.stdout, 'close');
  const curve = [];
  let [peak, cpu] = [0, 0];
  const timer = setInterval(() => {
    try {
      peak = mebibytes(child.pid, 'VmHWM') || peak;
      cpu = cpuSeconds(child.pid);
      const second = Math.floor((performance.now() - began) / 1000);
      curve[second] ??= mebibytes(child.pid, 'VmRSS');
    } catch {
      // It has ended.
    }
  }, SAMPLE_MS);
  const { code } = await ended;
  clearInterval(timer);
  await closed;
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`);
  return {
    output,
    seconds: (performance.now() - began) / 1000,
    cpu,
    databaseCpu: databasePid && cpuSeconds(databasePid) - databaseBefore,
    peak,
    curve: curve.filter((one) => one > 0),
  };
};
