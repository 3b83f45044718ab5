import { sleep } from '../../base/runtime.ts';

/** The result of a check in a word. `skipped`: the check does not apply, or is not possible. */
export type Health = 'ok' | 'warning' | 'failure' | 'skipped';

/** The result of a check in a sentence, and the remedy. */
export interface Finding {
  health: Health;
  message: string;
  cure?: string;
}

/** The result of a check. */
export interface Diagnosis extends Finding {
  check: string;
}

/** A check of the deployment. */
export interface Check {
  name: string;
  /** Whether it reads the tables of the service, which must exist. */
  needsTables?: true;
  /** Whether it has no time limit. */
  isLong?: boolean;
  run: () => Promise<Finding> | Finding;
}

/** The time limit of a check: a server that disappeared never answers. */
const TIMEOUT_MS = 15_000;

export const ok = (message: string): Finding => ({ health: 'ok', message });
export const skipped = (message: string): Finding => ({ health: 'skipped', message });
export const warning = (message: string, cure: string): Finding => ({ health: 'warning', message, cure });
export const failure = (message: string, cure: string): Finding => ({ health: 'failure', message, cure });

const lateOf = async (signal: AbortSignal): Promise<Finding> => {
  await sleep(TIMEOUT_MS, undefined, { signal, ref: false }).catch(() => undefined);
  return failure(`There was no answer within ${TIMEOUT_MS / 1000} s.`, 'Look at the server and the network between.');
};

/** Runs a check within its time limit. A check that throws has failed: `describe` words its error. */
export const diagnose = async (
  { name, isLong, run }: Check,
  describe: (error: unknown) => string,
): Promise<Diagnosis> => {
  const answered = new AbortController();
  try {
    return { check: name, ...(await (isLong ? run() : Promise.race([run(), lateOf(answered.signal)]))) };
  } catch (error) {
    return { check: name, ...failure(describe(error), 'Mend what the message names, and run this again.') };
  } finally {
    answered.abort();
  }
};

/** The worst of several results. */
export const worstOf = (diagnoses: readonly Finding[]): Health =>
  (['failure', 'warning', 'ok'] as const).find((health) => diagnoses.some((one) => one.health === health)) ?? 'skipped';
