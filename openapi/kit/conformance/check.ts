import type { Reason, Scope } from '../../../contract/index.ts';
import type { Operation } from './contract/operation.ts';

/** The subject of checks that belong to no single operation. */
export const SERVICE = 'service';

/** Why a run that changes nothing skips a check. */
export const WITHHELD = 'it would write';

/**
 * The property that a check proves: a refusal, the shape of a success, the effect of an operation, its single effect
 * when repeated, or the form of requests and replies.
 */
export type Proof = Reason | 'output' | 'effect' | 'repetition' | 'form';

/** One property to prove of a deployment. */
export interface Check {
  /** The id of an operation, or `service`. */
  subject: string;
  /** The expected behavior, such as `refuses /limit: 0`. */
  name: string;
  proves: Proof;
  /** The scopes a key needs for it. */
  needs: readonly Scope[];
  /** @throws Mismatch, Skip */
  run: () => Promise<void>;
}

/** A check of an operation, with a key that may call it. */
export const checkOf = ({ id, needs }: Operation, proves: Proof, name: string, run: Check['run']): Check => ({
  subject: id,
  name,
  proves,
  needs,
  run,
});

/** A check that needs no key, of an operation or of the service. */
export const openCheck = (subject: string, name: string, run: Check['run'], proves: Proof = 'form'): Check => ({
  subject,
  name,
  proves,
  needs: [],
  run,
});

/** The checks of the effects of an operation, by their names. */
export type Effects = Readonly<Record<string, Check['run']>>;

/** `make`, called when first needed, and only once. */
export const once = <T>(make: () => T): (() => T) => {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
};
