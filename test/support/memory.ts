import { readFile } from 'node:fs/promises';

/** The memory that a process has, and has had at its most, in MiB. Undefined where the system has no such file. */
export const memoryOf = async (pid: number): Promise<{ now: number; peak: number } | undefined> => {
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const mebibytes = (name: string) => Number(new RegExp(`^${name}:\\s+([0-9]+) kB$`, 'm').exec(text)?.[1]) / 1024;
  const [now, peak] = [mebibytes('VmRSS'), mebibytes('VmHWM')];
  return Number.isNaN(now + peak) ? undefined : { now, peak };
};
