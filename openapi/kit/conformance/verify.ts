import { operations as contractOperations, type Scope } from '../../../contract/index.ts';
import { scopesOf, Unusable } from './caller.ts';
import type { Check } from './check.ts';
import { operationOf } from './contract/operation.ts';
import { additionChecks, additionsTo } from './checks/additions.ts';
import { clientDocumentChecks, readChanges } from './checks/document.ts';
import { type ClientDocument, documented } from './document/client-document.ts';
import type { Change } from './document/change.ts';
import { type Finding, Mismatch, show, Skip } from './findings/finding.ts';
import { findBase } from './http/base.ts';
import { Client } from './http/client.ts';
import { demandUnusedSeed, recordsMade, recordsThere } from './leftovers.ts';
import { WebhookReceiver } from './receiver.ts';
import { SeededRandom } from './seed.ts';
import { VerifySession } from './session.ts';
import { lawChecks } from './laws/laws.ts';
import { repetitionChecks } from './checks/repetition.ts';
import { refusalChecks } from './checks/refusals.ts';
import { replyChecks } from './checks/replies.ts';
import { serviceChecks } from './checks/service.ts';
import { streamChecks } from './checks/streams.ts';
import { successChecks } from './checks/success.ts';

/**
 * The checks of a run about these subjects, or about all, in the order of their execution: the last ones examine the
 * replies to all before.
 */
export const planChecks = (session: VerifySession, only?: readonly string[]): Check[] => {
  const isWanted = (subject: string): boolean => only?.includes(subject) ?? true;
  const operations = session.operations.filter(({ id }) => isWanted(id));
  const ofOperations = operations.flatMap((operation) => [
    ...(operation.isStream ? streamChecks(operation, session) : successChecks(operation, session)),
    ...lawChecks(operation, session),
    ...repetitionChecks(operation, session),
    ...refusalChecks(operation, session),
  ]);
  const all = [
    ...serviceChecks(session),
    ...ofOperations,
    ...replyChecks(session),
    ...additionChecks(session),
    ...clientDocumentChecks(session),
  ];
  return all.filter(({ subject }) => isWanted(subject));
};

const TIMEOUT_MS = 10_000;

/** A deployment, and the data to verify it. */
export interface VerifyTarget {
  /** The address of the deployment, or of one of its pages. */
  baseUrl: string;
  /** A key of the deployment; without one, only checks that need no key run. */
  key?: string | undefined;
  /** Whether the run must not change anything, even with a key that may. */
  readOnly?: boolean;
  /** Whether things that the contract does not know are faults, and not only changes. */
  strict?: boolean;
  /** A well-formed key that the deployment has not issued. */
  unknownKey: string;
  /** The site that the requests give as the origin of their scripts. */
  origin: string;
  /** The OpenAPI document of this contract, which the deployment must publish. */
  document: object;
  /** The document that a client was made from. */
  clientDocument?: ClientDocument | undefined;
  /** The subjects to check: ids of operations, and `service` for the rest; all by default. */
  only?: readonly string[] | undefined;
  /** The seed of all random values. */
  seed: number;
  /** The longest time for a reply. */
  timeoutMs?: number;
  /** The port of this machine that receives webhooks; without one, only checks that need no endpoint run. */
  receiverPort?: number | undefined;
}

/** Callbacks for the progress of a run. */
export interface VerifyObserver {
  /** Runs `work`, which makes `checks` checks and reports progress. */
  withProgress?: <T>(checks: number, work: (advance: (more: number) => void) => Promise<T>) => Promise<T>;
  /** The deployment limits rates or is overloaded, and asks to wait this many seconds. */
  onWait?: (seconds: number) => void;
  /** The deployment's address, when it differs from the given one. */
  onBase?: (baseUrl: string) => void;
}

/** The outcome of a check. */
export interface CheckResult extends Pick<Check, 'subject' | 'name'> {
  outcome: 'passed' | 'failed' | 'skipped';
  /** The differences from the contract; empty unless it failed. */
  findings: readonly Finding[];
  /** The reason for skipping it. */
  reason?: string;
  ms: number;
}

export interface VerifyRun {
  /** The address of the deployment. */
  baseUrl: string;
  /** The name of the run, which the titles of its records hold. */
  name: string;
  results: CheckResult[];
  /** The differences from the document of a client, or else of the contract, and additions in replies. */
  changes: Change[];
  /** How many records the run made. */
  made: number;
  /** The number of them that still exist, when called; undefined if the deployment does not say. */
  countLeft: () => Promise<number | undefined>;
}

/** Runs a check, unless the caller lacks what it needs. Never rejects. */
const outcomeOf = async (
  check: Check,
  session: VerifySession,
): Promise<Pick<CheckResult, 'outcome' | 'findings' | 'reason'>> => {
  try {
    const lack = session.missingScopes(check.needs);
    if (lack !== undefined) throw new Skip(lack);
    await check.run();
    return { outcome: 'passed', findings: [] };
  } catch (error) {
    if (error instanceof Skip) return { outcome: 'skipped', findings: [], reason: error.message };
    if (error instanceof Mismatch) return { outcome: 'failed', findings: error.findings };
    return { outcome: 'failed', findings: [{ expected: 'replies that the check can use', came: show(String(error)) }] };
  }
};

const make = async (check: Check, session: VerifySession): Promise<CheckResult> => {
  const { subject, name } = check;
  const started = performance.now();
  const outcome = await outcomeOf(check, session);
  const ms = performance.now() - started;
  await session.things.tidy();
  return { subject, name, ...outcome, ms };
};

/** The changes that are not faults, each place of an operation once. */
const changesOf = async (session: VerifySession): Promise<Change[]> => {
  const { clientDocument, document, strict } = session;
  const additions = strict ? [] : additionsTo(session);
  // If no document is published to compare with, checks have reported that.
  const documentChanges =
    strict && !clientDocument
      ? []
      : await readChanges(session, clientDocument ?? documented('this contract', document)).catch(() => []);
  const told = new Set(documentChanges.map(({ operation, where }) => `${operation} ${where}`));
  return [...documentChanges, ...additions.filter(({ operation, where }) => !told.has(`${operation} ${where}`))];
};

/** Runs checks one after another. */
const makeAll = async (
  checks: readonly Check[],
  session: VerifySession,
  advance: (more: number) => void,
): Promise<CheckResult[]> => {
  const results: CheckResult[] = [];
  for (const [index, check] of checks.entries()) {
    session.client.begin(String(index + 1));
    results.push(await make(check, session));
    advance(1);
  }
  session.client.begin('end');
  return results;
};

/** @throws Unusable */
const listenAt = async (port: number): Promise<WebhookReceiver> => {
  try {
    return await WebhookReceiver.listen(port);
  } catch (error) {
    throw new Unusable(`Webhooks cannot be received at port ${port}: ${(error as Error).message}.`);
  }
};

/**
 * Checks a deployment against the contract, from outside. The results list its faults.
 * @throws Unreachable without a gateway; Unusable if it refuses the key or has seen the seed, or if webhooks cannot be
 * received
 */
export const verify = async (target: VerifyTarget, observer: VerifyObserver = {}): Promise<VerifyRun> => {
  const { baseUrl, key, unknownKey, document, clientDocument, only, origin, receiverPort } = target;
  const { readOnly = false, strict = false, timeoutMs = TIMEOUT_MS } = target;
  const { withProgress = (_, work) => work(() => undefined), onWait = () => undefined, onBase } = observer;
  const receiver = receiverPort === undefined ? undefined : await listenAt(receiverPort);
  try {
    const random = new SeededRandom(target.seed);
    const clientOf = (base: string) => new Client({ baseUrl: base, origin, run: random.run, timeoutMs, onWait });
    const client = await findBase(baseUrl, clientOf);
    if (client.baseUrl !== baseUrl) onBase?.(client.baseUrl);
    const operations = contractOperations.map(operationOf);
    const held = key === undefined ? new Set<Scope>() : await scopesOf(client, key, operations, readOnly);
    const caller = { key, unknownKey, scopes: held };
    const parts = { operations, client, caller, readOnly, random, strict, document, clientDocument };
    const session = new VerifySession(parts, receiver);
    await demandUnusedSeed(session);
    const checks = planChecks(session, only);
    const results = await withProgress(checks.length, (advance) => makeAll(checks, session, advance));
    return {
      baseUrl: client.baseUrl,
      name: random.run,
      results,
      changes: await changesOf(session),
      made: recordsMade(session),
      countLeft: () => recordsThere(session),
    };
  } finally {
    await receiver?.close();
  }
};
