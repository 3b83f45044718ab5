/** The service as one or several instances, and the ways to harm it and what it needs. */
export interface Victim {
  /** The addresses of the instances, over which clients spread their calls. */
  bases: readonly string[];
  /** The address of the database. */
  url: string;
  /** By its name, each way to harm it. Returns when all works again. @throws Error when a harm has no effect */
  nemeses: Readonly<Record<string, () => Promise<void>>>;
  /** Whether calls without a key read replicas. */
  hasReplicas?: boolean;
  remove(): Promise<void>;
}

interface Plan {
  nemeses: readonly string[];
  /** Makes users in the new database. */
  prepare: (url: string) => Promise<void>;
  /** Settings of each instance. */
  env: Record<string, string>;
}
export type StartVictim = (plan: Plan) => Promise<Victim>;

/** The items one after the other, again and again. */
export const inTurns = <T>(items: readonly T[]): (() => T) => {
  let turn = -1;
  return () => {
    turn += 1;
    return items[turn % items.length]!;
  };
};
