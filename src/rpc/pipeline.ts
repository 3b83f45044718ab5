import { createHash } from 'node:crypto';
import { ANSWERED_BYTES_PER_MS, MAX_VALUES, SENT_BYTES_PER_MS } from '../../contract/index.ts';
import { unknownProcedure } from '../suggestions/procedures.ts';
import type { RpcContext } from './context.ts';
import type { Deadline } from '../deadline.ts';
import { AppError } from '../errors.ts';
import { IdempotentReplay } from '../idempotency/call.ts';
import type { KeyUses } from '../auth/uses.ts';
import type { Caller, KeyVerifier } from '../auth/verifier.ts';
import type { RequestContext } from './request-context.ts';
import { assertAccess, identify } from './access.ts';
import { hasMoreValues, inputOf, type Payload } from './payload.ts';
import { withRetryHint, idempotentCallOf } from './idempotent-call.ts';
import { callerOf } from '../overload/caller.ts';
import type { LimitedWork } from '../overload/concurrency-limiter.ts';
import type { OverloadProtection } from '../overload/overload-protection.ts';
import type { RateLimitKey, RateLimiter } from '../rate-limit/limiter.ts';
import { type CallObserver, type CallObservation, unobserved } from '../telemetry/hooks.ts';
import type { Call } from '../procedure.ts';
import type { Procedure, Procedures } from './procedures.ts';
import { type Enter, SingleFlight } from './single-flight.ts';

/** The bytes of a body that are as much work as one more chunk. */
const BYTES_PER_CHUNK = 16;

/**
 * What is done with a call that may be done: parse what was sent by the contract, handle it, check and strip the reply.
 * @throws AppError VALIDATION_FAILED and whatever the handler throws
 */
export type ValidatedHandler = (procedure: Procedure, payload: unknown, call: Call) => Promise<unknown>;

/** A call that may be made. */
export interface AuthorizedCall {
  procedure: Procedure;
  /** Undefined for nobody in particular. */
  caller: Caller | undefined;
  context: RequestContext;
  /** Who pays for it, where that is counted. */
  limitKey: RateLimitKey | undefined;
}

/** From this length on a key is kept as its digest, in characters. */
const LONG_KEY = 200;

/** Equal for equal calls only: it says which form it has, since a caller may send the digest of another's text. */
const keyOf = ({ id }: Procedure, text: string): string =>
  text.length > LONG_KEY ? `${id} sha256 ${createHash('sha256').update(text).digest('base64')}` : `${id} text ${text}`;

/** @throws AppError VALIDATION_FAILED for what is far larger than any input: each of its faults would take time to find */
const assertSize = ({ recordsMember }: Procedure, envelope: unknown): void => {
  const limit = recordsMember === undefined ? MAX_VALUES.single : MAX_VALUES.batch;
  if (!hasMoreValues(envelope, limit)) return;
  const issue = { path: '', code: 'too_big', message: `must not hold more than ${limit} values in all` };
  throw new AppError('VALIDATION_FAILED', { issues: [issue], hint: 'The input is too large to look for its faults.' });
};

/** Reads of one record count its views and meet in the database layer, so they are not shared here. */
const isShared = ({ procedure: { effect, answersList }, caller }: AuthorizedCall): boolean =>
  effect === 'read' && answersList && caller === undefined;

/**
 * The one way of a call, whichever door it came through: find the procedure → who calls → may they, so often → is there
 * room → parse → handle → check → reply. What a door demands or reads by its own rules it does between these steps.
 */
export class RpcPipeline {
  readonly #procedures: Procedures;
  readonly #keys: KeyVerifier;
  readonly #uses: KeyUses;
  readonly #overload: OverloadProtection;
  readonly #frame: ValidatedHandler;
  readonly #rates: RateLimiter | undefined;
  readonly #observer: CallObserver | undefined;
  readonly #shared: SingleFlight<Buffer>;

  constructor(
    { auth, protection, observer }: Pick<RpcContext, 'auth' | 'protection' | 'observer'>,
    procedures: Procedures,
    frame: ValidatedHandler,
  ) {
    this.#procedures = procedures;
    this.#keys = auth.keys;
    this.#uses = auth.uses;
    this.#overload = protection.overload;
    this.#frame = frame;
    this.#rates = protection.limits?.limiter;
    this.#observer = observer?.calls;
    this.#shared = new SingleFlight(this.#observer?.shared);
  }

  /** Has a call watched from now on, that of the procedure with this id if there is one. Its door says how it ends. */
  observe(id: string): CallObservation {
    return this.#observer?.begin(this.#procedures.has(id) ? id : undefined) ?? unobserved;
  }

  /** The procedure with this id. @throws AppError PROCEDURE_NOT_FOUND */
  find(id: string): Procedure {
    const procedure = this.#procedures.get(id);
    if (!procedure) throw new AppError('PROCEDURE_NOT_FOUND', { hint: unknownProcedure(id) });
    return procedure;
  }

  /** Finds out who calls; undefined for nobody in particular. @throws AppError KEY_…, RATE_LIMITED, TIMEOUT */
  async authenticate({
    authorization,
    address,
    deadline,
    onAuthenticated,
    onRateLimit,
  }: RequestContext): Promise<Caller | undefined> {
    const caller =
      authorization === undefined
        ? undefined
        : await deadline.race(identify(this.#keys, authorization, this.#rates?.keyLookUp(address, onRateLimit)));
    onAuthenticated(caller);
    return caller;
  }

  /**
   * Finds out who calls, and whether they may, and charges what is known of the call.
   * @throws AppError KEY_…, SCOPE_MISSING, RATE_LIMITED, TIMEOUT
   */
  async authorize(procedure: Procedure, context: RequestContext): Promise<AuthorizedCall> {
    const { address, deadline, onRateLimit } = context;
    const caller = await this.authenticate(context);
    assertAccess(procedure.access, caller, context);
    if (caller) this.#uses.note(caller.key.id, procedure.id);
    const limitKey = this.#rates?.keyOf(caller?.key.id, address, onRateLimit);
    const entering = limitKey && this.#enter(limitKey, procedure, deadline);
    if (entering) await entering;
    return { procedure, caller, context, limitKey };
  }

  /** Charges what a door does for a caller that is no call of a procedure as one read. @throws AppError RATE_LIMITED */
  async charge(caller: Caller | undefined, { address, deadline, onRateLimit }: RequestContext): Promise<void> {
    const limitKey = this.#rates?.keyOf(caller?.key.id, address, onRateLimit);
    if (limitKey) await this.#enter(limitKey, { effect: 'read' }, deadline);
  }

  /** Bills the caller for so many bytes of a body, and for the chunks in which it came. */
  billBody({ deadline, chunks }: RequestContext, bytes: number): void {
    deadline.bill?.((bytes + (chunks?.() ?? 0) * BYTES_PER_CHUNK) / SENT_BYTES_PER_MS);
  }

  /**
   * Makes the call, as soon as there is room for it, and charges what it was found to cost. Returns the JSON of the reply,
   * encoded once for all who share it. At the deadline a read is given up at once; a write itself has to find out whether
   * it is stored. `position` is its place in a batch.
   * @throws AppError MALFORMED_JSON, VALIDATION_FAILED, RATE_LIMITED, OVERLOADED, TIMEOUT, …
   */
  async invoke(authorized: AuthorizedCall, payload: Payload, position = 0): Promise<Buffer> {
    const { procedure, limitKey, context } = authorized;
    const input = this.#inputThatTells(procedure, payload);
    const charging = limitKey && this.#rates?.chargeInput(limitKey, procedure, input);
    if (charging) await charging;
    const answer = await this.#make(authorized, payload, { input, position });
    context.deadline.bill?.(answer.length / ANSWERED_BYTES_PER_MS);
    return answer;
  }

  #enter(limitKey: RateLimitKey, { effect }: Pick<Procedure, 'effect'>, deadline: Deadline): void | Promise<void> {
    deadline.bill = (ms) => this.#rates?.chargeWork(limitKey, ms);
    return this.#rates?.chargeCall(limitKey, effect);
  }

  #make(
    authorized: AuthorizedCall,
    payload: Payload,
    { input, position }: { input: unknown; position: number },
  ): Promise<Buffer> {
    const { procedure, caller, context } = authorized;
    const { deadline, address, authorization, admittedBy, waitedMs } = context;
    const { limiter, cost } = this.#overload.placeOf(procedure, input);
    const work: LimitedWork = {
      caller: callerOf(caller && authorization, address),
      cost,
      deadline,
      waitedMs,
      admittedBy,
    };
    if (procedure.effect === 'write') return limiter.run(work, () => this.#write(authorized, payload, position));
    const read = (time: Deadline): Promise<Buffer> =>
      this.#handle(procedure, payload, { caller, address, deadline: time });
    if (!isShared(authorized)) return deadline.race(limiter.run(work, () => read(deadline)));
    const enter: Enter = (run, untilBegun) => limiter.run({ ...work, untilBegun }, run);
    const asked = { caller: work.caller, deadline };
    return deadline.race(this.#shared.answer(keyOf(procedure, payload.text), asked, enter, read));
  }

  /** The input, where the class or the cost of the call depends on it. @throws AppError MALFORMED_JSON */
  #inputThatTells({ searchMember, recordsMember }: Procedure, payload: Payload): unknown {
    const member = searchMember ?? recordsMember;
    return member !== undefined && payload.mightContain(member) ? inputOf(payload.parse()) : undefined;
  }

  async #handle(procedure: Procedure, payload: Payload, call: Call): Promise<Buffer> {
    const envelope = payload.parse();
    assertSize(procedure, envelope);
    return Buffer.from(JSON.stringify(await this.#frame(procedure, envelope, call)));
  }

  async #write({ procedure, caller, context }: AuthorizedCall, payload: Payload, position: number): Promise<Buffer> {
    const { address, deadline, idempotencyKey } = context;
    const input = (): unknown => inputOf(payload.parse());
    const idempotent = idempotentCallOf(procedure, caller, { idempotencyKey, position, input });
    try {
      return await this.#handle(procedure, payload, { caller, address, deadline, idempotent });
    } catch (error) {
      if (!(error instanceof IdempotentReplay)) throw withRetryHint(error, idempotent);
      context.onReplay();
      this.#observer?.replayed(procedure.id);
      return Buffer.from(error.answer);
    }
  }
}
