import { createHash } from 'node:crypto';
import {
  ANSWERED_BYTES_PER_MS,
  hasPart,
  type AnyRoute,
  type ProcedureMetadata,
  SENT_BYTES_PER_MS,
} from '../../contract/index.ts';
import type { UseRecorder } from '../consumers/use/recorder.ts';
import type { Caller, KeyVerifier } from '../auth/verifier.ts';
import type { Deadline } from '../base/deadline.ts';
import { AppError, CallerLeft } from '../base/errors.ts';
import { toAppError } from '../http/message/failures.ts';
import { type IdempotentCall, idempotentCall, IdempotentReplay } from '../auth/idempotency/call.ts';
import { clientSubnet, noteUser } from '../limits/caller.ts';
import type { LimitedWork } from '../limits/overload/concurrency-limiter.ts';
import type { Maintenance } from './maintenance/maintenance.ts';
import type { OverloadProtection } from '../limits/overload/overload-protection.ts';
import type { Call } from '../auth/procedure.ts';
import { type Classified, classify, type RateLimiter, type RateLimitKey } from '../limits/rate-limit/limiter.ts';
import { unknownProcedure } from '../base/suggestions/procedures.ts';
import { type CallObservation, type CallObserver, unobserved } from '../telemetry/hooks.ts';
import { assertAccess, identify } from './access.ts';
import type { RpcContext } from './context.ts';
import { hasMoreValues, inputOf, type Payload } from './payload.ts';
import { checkedCall, type Procedure, type Procedures, replyJson } from './procedures.ts';
import type { RequestContext } from './request-context.ts';
import { type Enter, SingleFlight } from './single-flight.ts';

/** The bytes of a body that cost as much as one more chunk. */
const BYTES_PER_CHUNK = 16;

/** A call that may be made. */
export interface AuthorizedCall {
  procedure: Procedure;
  /** Undefined for an anonymous caller. */
  caller: Caller | undefined;
  context: RequestContext;
  /** Charged for the call; undefined where callers have no limits. */
  limitKey: RateLimitKey | undefined;
}

/** Keys of shared reads beyond this many characters are replaced by their digests. */
const LONG_KEY = 200;

/** The key of a shared read. It says which form it has, since a caller may send the digest of another's text. */
const keyOf = ({ id }: Procedure, text: string): string =>
  text.length > LONG_KEY ? `${id} sha256 ${createHash('sha256').update(text).digest('base64')}` : `${id} text ${text}`;

/** @throws AppError VALIDATION_FAILED for far more values than any input has: finding all faults would take long */
const assertSize = ({ maxValues: limit }: Procedure, envelope: unknown): void => {
  if (!hasMoreValues(envelope, limit)) return;
  const issue = { path: '', code: 'too_big', message: `must not hold more than ${limit} values in all` };
  throw new AppError('VALIDATION_FAILED', { issues: [issue], hint: 'The input is too large to look for its faults.' });
};

/** Throws an error of a call. Where an operation finds no user whom its input does not name, the caller's own was deleted meanwhile. */
const throwToCaller =
  ({ reasons }: Procedure, { caller }: Call) =>
  (error: unknown): never => {
    const isGone =
      caller && error instanceof AppError && error.reason === 'USER_NOT_FOUND' && !reasons.includes(error.reason);
    throw isGone ? new AppError('KEY_UNKNOWN') : error;
  };

/** Anonymous lists are shared. Reads of single records are not: they count views, and share queries in the database layer. */
const isShared = ({ procedure: { effect, answersList }, caller }: AuthorizedCall): boolean =>
  effect === 'read' && answersList && caller === undefined;

/** The error of a write, with a hint on repeating it if its outcome is unknown. */
const withRetryHint = (error: unknown, call: IdempotentCall | undefined): unknown => {
  if (!(error instanceof AppError) || error.reason !== 'OUTCOME_UNKNOWN') return error;
  if (call) return new AppError(error.reason, { ...error.details, shouldRetry: true });
  return new AppError(error.reason, {
    ...error.details,
    shouldRetry: false,
    hint: 'Look whether it is stored before you repeat this request, which may store it twice. A request with an `Idempotency-Key` may always be repeated.',
  });
};

/**
 * The steps of a call, by whichever transport: find the procedure, authenticate, authorize and charge, then invoke: wait for
 * a place, parse, handle, check the reply. A transport reads the request between these steps, by its own rules.
 */
export class RpcPipeline {
  readonly #procedures: Procedures;
  readonly #keys: KeyVerifier;
  readonly #uses: UseRecorder | undefined;
  readonly #overload: OverloadProtection;
  readonly #limiter: RateLimiter | undefined;
  readonly #maintenance: Maintenance;
  readonly #observer: CallObserver | undefined;
  readonly #shared: SingleFlight<Buffer>;

  constructor(
    { auth, protection, observer }: Pick<RpcContext, 'auth' | 'protection' | 'observer'>,
    procedures: Procedures,
  ) {
    this.#procedures = procedures;
    this.#keys = auth.keys;
    this.#uses = auth.uses;
    this.#overload = protection.overload;
    this.#limiter = protection.limits?.limiter;
    this.#maintenance = protection.maintenance;
    this.#observer = observer?.calls;
    this.#shared = new SingleFlight(this.#observer?.shared);
  }

  /** The procedures that are served. */
  get procedures(): Procedure[] {
    return [...this.#procedures.values()];
  }

  /** Begins the observation of a call, of the procedure with this id if there is one. The transport ends it. */
  observe(id: string): CallObservation {
    return this.#observer?.begin(this.#procedures.has(id) ? id : undefined) ?? unobserved;
  }

  /** The procedure with this id. @throws AppError PROCEDURE_NOT_FOUND */
  find(id: string): Procedure {
    const procedure = this.#procedures.get(id);
    if (!procedure) throw new AppError('PROCEDURE_NOT_FOUND', { hint: unknownProcedure(id) });
    return procedure;
  }

  /** The caller; undefined for an anonymous one. @throws AppError KEY_…, RATE_LIMITED, TIMEOUT */
  async authenticate(context: RequestContext): Promise<Caller | undefined> {
    const { authorization, address, deadline, onAuthenticated, onRateLimit } = context;
    const caller =
      authorization === undefined
        ? undefined
        : await deadline.race(identify(this.#keys, authorization, this.#limiter?.keyLookUp(address, onRateLimit)));
    if (caller && authorization !== undefined) noteUser(authorization, caller.userId);
    context.caller = caller;
    onAuthenticated(caller);
    return caller;
  }

  /**
   * Authenticates the caller, asserts that they may call the procedure, and charges them for a call.
   * @throws AppError KEY_…, SCOPE_MISSING, RATE_LIMITED, MAINTENANCE, TIMEOUT
   */
  async authorize(procedure: Procedure, context: RequestContext): Promise<AuthorizedCall> {
    this.tellDeprecation(procedure, context);
    const caller = await this.authenticate(context);
    assertAccess(procedure.access, caller, context);
    if (caller) this.#uses?.count(caller.key.id, procedure.id);
    const limitKey = this.#limiter?.keyOf(caller, context.address, context.onRateLimit);
    const charging = limitKey && this.#chargeCall(limitKey, procedure.effect, context);
    if (charging) await charging;
    if (procedure.effect === 'write') {
      const checking = this.#maintenance.assertWritable();
      if (checking) await context.deadline.race(checking);
    }
    return { procedure, caller, context, limitKey };
  }

  /** Tells the caller that the operation is deprecated, if it is. */
  tellDeprecation(operation: ProcedureMetadata, { onDeprecated }: RequestContext): void {
    if (operation.deprecated) onDeprecated(operation, [operation.deprecated]);
  }

  /** Records which parts of the input a caller sent, and tells them which of these are deprecated. `read` gives the input if it is asked for. */
  noteInput(route: AnyRoute, caller: Caller | undefined, context: RequestContext, read: () => unknown): void {
    const { onDeprecated, userAgent, idempotencyKey } = context;
    const { metadata: operation } = route;
    const parts = operation.deprecatedParts.input;
    if (!this.#uses && parts.length === 0) return;
    const input = read();
    this.#uses?.note(route, { keyId: caller?.key.id, userAgent, idempotencyKey }, input);
    if (parts.length === 0) return;
    onDeprecated(
      operation,
      parts.filter((part) => hasPart(input, part)).map(({ deprecation }) => deprecation),
    );
  }

  /** Keeps the failure of a call of an operation for the holder of the key, unless the caller has left. */
  noteFailure({ id }: Pick<ProcedureMetadata, 'id'>, { caller, requestId }: RequestContext, error: unknown): void {
    if (caller && !(error instanceof CallerLeft)) this.#uses?.fail(caller.key.id, id, requestId, toAppError(error));
  }

  /** Charges one read for what a transport does besides calls of procedures. @throws AppError RATE_LIMITED */
  async charge(caller: Caller | undefined, context: RequestContext): Promise<void> {
    const limitKey = this.#limiter?.keyOf(caller, context.address, context.onRateLimit);
    if (limitKey) await this.#chargeCall(limitKey, 'read', context);
  }

  /** Charges the caller for the bytes of a body and its chunks. */
  chargeBody({ meter, chunks }: RequestContext, bytes: number): void {
    meter.add((bytes + (chunks?.() ?? 0) * BYTES_PER_CHUNK) / SENT_BYTES_PER_MS);
  }

  /**
   * Makes a call in its turn, and charges what it costs beyond a usual one. Returns the JSON of the reply. At the deadline a
   * read is given up at once; a write first finds out whether it is stored. `position` is the call's place in a batch.
   * @throws AppError MALFORMED_JSON, VALIDATION_FAILED, RATE_LIMITED, OVERLOADED, TIMEOUT, …
   */
  async invoke(authorized: AuthorizedCall, payload: Payload, position = 0): Promise<Buffer> {
    const { procedure, caller, limitKey, context } = authorized;
    this.noteInput(procedure.route, caller, context, () => inputOf(payload.parse()));
    const classified = classify(procedure, this.#inputThatClassifies(procedure, payload));
    const charging = limitKey && this.#limiter?.chargeInput(limitKey, classified);
    if (charging) await charging;
    const answer = await this.#run(authorized, payload, { classified, position });
    context.meter.add(answer.length / ANSWERED_BYTES_PER_MS);
    return answer;
  }

  #chargeCall(limitKey: RateLimitKey, effect: Procedure['effect'], { meter }: RequestContext): void | Promise<void> {
    meter.chargeBy((ms) => this.#limiter?.chargeWork(limitKey, ms));
    return this.#limiter?.chargeCall(limitKey, effect);
  }

  #run(
    authorized: AuthorizedCall,
    payload: Payload,
    { classified: { callClass, cost }, position }: { classified: Classified; position: number },
  ): Promise<Buffer> {
    const { procedure, caller, context } = authorized;
    const { deadline, address, admittedBy, waitedMs } = context;
    const limiter = this.#overload.limiterFor(procedure, callClass);
    const work: LimitedWork = {
      caller: caller?.userId ?? clientSubnet(address),
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
    const waiter = { caller: work.caller, deadline };
    return deadline.race(this.#shared.answer(keyOf(procedure, payload.text), waiter, enter, read));
  }

  /** The input, where the class or the cost of the call depends on it. @throws AppError MALFORMED_JSON */
  #inputThatClassifies({ searchMember, recordsMember }: Procedure, payload: Payload): unknown {
    const member = searchMember ?? recordsMember;
    return member !== undefined && payload.mightContain(member) ? inputOf(payload.parse()) : undefined;
  }

  async #handle(procedure: Procedure, payload: Payload, call: Call): Promise<Buffer> {
    const envelope = payload.parse();
    assertSize(procedure, envelope);
    return Buffer.from(await checkedCall(procedure, envelope, call).catch(throwToCaller(procedure, call)));
  }

  async #write(authorized: AuthorizedCall, payload: Payload, position: number): Promise<Buffer> {
    const { procedure, caller, context } = authorized;
    const idempotent = this.#idempotentCall(authorized, payload, position);
    try {
      const { address, deadline } = context;
      return await this.#handle(procedure, payload, { caller, address, deadline, idempotent });
    } catch (error) {
      if (!(error instanceof IdempotentReplay)) throw withRetryHint(error, idempotent);
      context.onReplay();
      this.#observer?.replayed(procedure.id);
      return Buffer.from(error.answer);
    }
  }

  /** The idempotent call of a write with an `Idempotency-Key`. @throws AppError IDEMPOTENCY_KEY_INVALID */
  #idempotentCall(
    { procedure, caller, context: { idempotencyKey: key } }: AuthorizedCall,
    payload: Payload,
    position: number,
  ): IdempotentCall | undefined {
    if (key === undefined || !caller) return undefined;
    const input = (): unknown => inputOf(payload.parse());
    return idempotentCall({
      key,
      apiKeyId: caller.key.id,
      userId: caller.userId,
      operation: procedure.id,
      position,
      input,
      encode: (output) => replyJson(procedure, output),
    });
  }
}
