import { procedures, type Scope, scopes } from '../../contract/index.ts';
import { type Check, SERVICE } from './check.ts';
import { DOCUMENT } from './checks/service.ts';
import { Client, NoReply } from './client.ts';
import { describeReply } from './expect.ts';
import { type Finding, Mismatch, show, Skip } from './finding.ts';
import { type Operation, operationOf } from './operation.ts';
import { planChecks } from './plan.ts';
import { newRun, Session } from './session.ts';

const TIMEOUT_MS = 10_000;

/** A deployment, and what is needed to try it. */
export interface Target {
  /** Where it is, without a slash at the end. */
  baseUrl: string;
  /** A key of the deployment; without one, only what needs none is checked. */
  key?: string | undefined;
  /** A well-formed key that the deployment has not issued. */
  unknownKey: string;
  /** The site whose scripts the requests pretend to come from. */
  origin: string;
  /** The OpenAPI document of this contract, which the deployment is to publish. */
  document: object;
  /** What to check: ids of operations, and `service` for the rest; all, unless given. */
  only?: readonly string[] | undefined;
  /** How long a reply may take. */
  timeoutMs?: number;
}

/** Told how a run goes. */
export interface Observer {
  /** Runs `work`, which is so many checks. */
  withProgress?: <T>(checks: number, work: (advance: (more: number) => void) => Promise<T>) => Promise<T>;
  /** The deployment limits rates, and wants to be left alone for so many seconds. */
  onWait?: (seconds: number) => void;
}

/** How a check ended. */
export interface Result extends Pick<Check, 'subject' | 'name'> {
  outcome: 'passed' | 'failed' | 'skipped';
  /** What is not as the contract says; empty unless it failed. */
  findings: readonly Finding[];
  /** Why it was not made, where it was skipped. */
  reason?: string;
  ms: number;
}

/** A deployment that cannot be verified at all; the message says why. */
export class VerifyError extends Error {}

/** @throws VerifyError if nothing answers */
const reach = async (client: Client, baseUrl: string): Promise<void> => {
  try {
    await client.send(SERVICE, DOCUMENT, { method: 'GET' });
  } catch (error) {
    if (!(error instanceof NoReply)) throw error;
    throw new VerifyError(`${baseUrl} cannot be reached: ${error.fault}.`, { cause: error });
  }
};

/**
 * Whether a key may call an operation, by what that makes of a faulty input. One that gives no answer counts as allowed,
 * so that its checks say so.
 * @throws VerifyError if the key is refused
 */
const mayCall = async (client: Client, key: string, { id, path }: Operation): Promise<boolean> => {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` };
  const reply = await client.send(id, path, { headers, body: '{"json":{"unknownMember":1}}' }).catch(() => undefined);
  if (reply?.status === 401) throw new VerifyError(`The deployment refuses the key: ${describeReply(reply)}.`);
  return reply?.status !== 403;
};

const scopesOf = async (client: Client, key: string, operations: readonly Operation[]): Promise<Set<Scope>> => {
  const held = new Set<Scope>();
  for (const scope of scopes) {
    const operation = operations.find(({ needs }) => needs.includes(scope));
    if (operation && (await mayCall(client, key, operation))) held.add(scope);
  }
  return held;
};

/** What came of a check that threw. */
const outcomeOf = (error: unknown): Pick<Result, 'outcome' | 'findings' | 'reason'> => {
  if (error instanceof Skip) return { outcome: 'skipped', findings: [], reason: error.message };
  if (error instanceof Mismatch) return { outcome: 'failed', findings: error.findings };
  return { outcome: 'failed', findings: [{ expected: 'replies that the check can use', came: show(String(error)) }] };
};

const make = async ({ subject, name, needs, run }: Check, session: Session): Promise<Result> => {
  const started = performance.now();
  const end = (how: Pick<Result, 'outcome' | 'findings' | 'reason'>): Result => ({
    subject,
    name,
    ...how,
    ms: performance.now() - started,
  });
  const lacking = needs.filter((scope) => !session.can(scope));
  try {
    if (lacking.length > 0) throw new Skip(`it needs a key with ${lacking.join(' and ')}`);
    await run();
    return end({ outcome: 'passed', findings: [] });
  } catch (error) {
    return end(outcomeOf(error));
  }
};

/**
 * Proves a deployment against the contract, from outside. What is wrong is in the results.
 * @throws VerifyError when it cannot be reached, or refuses the key
 */
export const verify = async (
  target: Target,
  { withProgress = (_, work) => work(() => undefined), onWait = () => undefined }: Observer = {},
): Promise<Result[]> => {
  const { baseUrl, key, unknownKey, origin, document, only, timeoutMs = TIMEOUT_MS } = target;
  const run = newRun();
  const client = new Client({ baseUrl, origin, run, timeoutMs, onWait });
  const operations = procedures.map(operationOf);
  await reach(client, baseUrl);
  const held = key === undefined ? new Set<Scope>() : await scopesOf(client, key, operations);
  const session = new Session({ operations, client, run, document, caller: { key, unknownKey, scopes: held } });

  const checks = planChecks(session, only);
  return withProgress(checks.length, async (advance) => {
    const results: Result[] = [];
    for (const check of checks) {
      results.push(await make(check, session));
      advance(1);
    }
    return results;
  });
};
