import { readFile } from 'node:fs/promises';

/** What a process has used so far. */
export interface Usage {
  /** The memory it had at its most, in MiB. */
  peakMebibytes: number;
  /** Seconds of a processor. */
  seconds: number;
}

/** How the kernel counts time for programs, whatever its own clock. */
const TICKS_PER_SECOND = 100;

/** What a running process has used. Undefined where the system has no `/proc` as Linux has it. */
export const usageOf = async (pid: number): Promise<Usage | undefined> => {
  try {
    const [status, stat] = await Promise.all(
      ['status', 'stat'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8')),
    );
    const kibibytes = Number(/^VmHWM:\s+([0-9]+) kB$/m.exec(status ?? '')?.[1]);
    // The name of the program, in brackets, may hold spaces; the 12th and 13th fields after it are user and system time.
    const fields = (stat ?? '').slice((stat ?? '').lastIndexOf(')') + 2).split(' ');
    return {
      peakMebibytes: kibibytes / 1024,
      seconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
    };
  } catch {
    return undefined;
  }
};
