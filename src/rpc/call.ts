import { createHash } from 'node:crypto';
import { ANSWERED_BYTES_PER_MS, hasPart, isStream, type Operation } from '../../contract/index.ts';
import { type IdempotentCall, idempotentCall, IdempotentReplay } from '../auth/idempotency/call.ts';
import type { Caller } from '../auth/verifier.ts';
import type { Deadline } from '../base/deadline.ts';
import { AppError, CallerLeft } from '../base/errors.ts';
import { unusableId } from '../base/suggestions/input.ts';
import { unknownProcedure } from '../base/suggestions/procedures.ts';
import { toAppError } from '../http/message/failures.ts';
import { jsonOf, RateLimitHeaders } from '../http/message/reply.ts';
import type { RequestState } from '../http/message/request-state.ts';
import { type Classified, classify } from '../limits/call-class.ts';
import { clientSubnet, noteUser } from '../limits/caller.ts';
import type { LimitedWork } from '../limits/overload/concurrency-limiter.ts';
import { type CallObservation, type CallObserver, unobserved } from '../base/observer.ts';
import {
  assertAccess,
  keyIn,
  parseInput,
  type Procedure,
  type Procedures,
  type Reply,
  replyAgain,
  replyOf,
  type RpcContext,
} from './procedures.ts';
import { assertSize, inputOf, type Payload } from './payload.ts';
import { type Enter, SingleFlight } from './single-flight.ts';

/** A call whose caller is not yet known. */
export interface BegunCall {
  /** The id of its procedure, which may not exist. */
  id: string;
  request: RequestState;
  observation: CallObservation;
}

/** A call that its caller may make and has been charged for. */
export interface AuthorizedCall<O extends Operation = Procedure> extends BegunCall {
  procedure: O;
  /** Undefined for an anonymous caller. */
  caller: Caller | undefined;
}

/** A call with its input read. */
export interface AdmittedCall<O extends Operation = Procedure> extends AuthorizedCall<O> {
  payload: Payload;
  classified: Classified;
  /** Set for writes with an `Idempotency-Key`. */
  idempotent: IdempotentCall | undefined;
}

/** Reads the payload of a call. */
type Read<O extends Operation = Procedure> = (call: AuthorizedCall<O>) => Payload | Promise<Payload>;

/** The part of a call that depends on the transport. Each function may refuse the call by an error. */
export interface Transport {
  /** Called before the caller is known. */
  accept?: (procedure: Procedure) => void;
  read: Read;
  /** Takes the JSON of the reply. */
  deliver?: (procedure: Procedure, json: Buffer) => void;
  /** The position of the call in a batch. */
  position?: number;
}

/** Keys of shared reads that are longer than this, in characters, are replaced by their digests. */
const LONG_KEY = 200;

/** The key of a shared read. It names its form, since a caller may send the digest of another caller's text. */
const keyOf = ({ id }: Procedure, text: string): string =>
  text.length > LONG_KEY ? `${id} sha256 ${createHash('sha256').update(text).digest('base64')}` : `${id} text ${text}`;

/** Whether equal calls share a run. Single records do not: they count views, and the database layer shares queries. */
const isShared = ({ procedure: { effect, answersList }, caller }: AdmittedCall): boolean =>
  effect === 'read' && answersList && caller === undefined;

/** The error of a handler, with the cause that the call reveals. */
const explained = (error: unknown, { procedure, caller, payload }: AdmittedCall): unknown => {
  if (!(error instanceof AppError)) return error;
  const { reason, details } = error;
  // The input names no user that could be missing: the caller's own was deleted meanwhile.
  if (caller && reason === 'USER_NOT_FOUND' && !procedure.reasons.includes(reason)) return new AppError('KEY_UNKNOWN');
  const hint = details.hint === undefined ? unusableId(reason, inputOf(payload.envelope)) : undefined;
  return hint === undefined ? error : new AppError(reason, { ...details, hint, cause: error });
};

/** The error of a write. If its outcome is unknown, a hint says whether to repeat it. */
const withRetryHint = (error: unknown, call: IdempotentCall | undefined): unknown => {
  if (!(error instanceof AppError) || error.reason !== 'OUTCOME_UNKNOWN') return error;
  if (call) return new AppError(error.reason, { ...error.details, shouldRetry: true });
  return new AppError(error.reason, {
    ...error.details,
    shouldRetry: false,
    hint: 'Look whether it is stored before you repeat this request, which may store it twice. A request with an `Idempotency-Key` may always be repeated.',
  });
};

/** Calls procedures for any transport. */
export class Calls {
  readonly #procedures: Procedures;
  readonly #context: RpcContext;
  readonly #observer: CallObserver | undefined;
  readonly #shared: SingleFlight<Reply>;

  constructor(context: RpcContext, procedures: Procedures) {
    this.#procedures = procedures;
    this.#context = context;
    this.#observer = context.observer?.calls;
    this.#shared = new SingleFlight(this.#observer?.shared);
  }

  /** The served procedures. */
  get procedures(): Procedure[] {
    return [...this.#procedures.values()];
  }

  /** Makes a call, step by step. ts-rest's endpoints take the same steps, but check the input themselves. */
  make(id: string, request: RequestState, { accept, read, deliver, position }: Transport): Promise<Reply> {
    const begun = this.observe(id, request);
    return begun.observation.within(async () => {
      try {
        const procedure = this.find(id);
        accept?.(procedure);
        const call = await this.admit(begun, procedure, read, position);
        const input = parseInput(procedure, call.payload.envelope);
        return await this.invoke(call, input, deliver);
      } catch (error) {
        this.noteFailure(begun, error);
        throw error;
      }
    });
  }

  /**
   * Takes the steps until the input is parsed: identifies, authorizes and charges the caller, and reads the input.
   * @throws AppError KEY_…, SCOPE_MISSING, RATE_LIMITED, MAINTENANCE, TIMEOUT, IDEMPOTENCY_KEY_INVALID, those of `read`
   */
  async admit<O extends Operation>(
    begun: BegunCall,
    procedure: O,
    read: Read<O>,
    position = 0,
  ): Promise<AdmittedCall<O>> {
    const { request } = begun;
    if (procedure.deprecated) request.noteDeprecated(procedure, [procedure.deprecated]);
    const caller = await this.identify(request);
    this.#authorize(procedure, request);
    const charging = this.charge(request, procedure.effect);
    if (charging) await charging;
    const checking = procedure.effect === 'write' && this.#context.protection.maintenance.assertWritable();
    if (checking) await request.deadline.race(checking);
    const authorized = { ...begun, procedure, caller };
    const payload = await read(authorized);
    this.#noteInput(authorized, inputOf(payload.envelope));
    const classified = classify(procedure, inputOf(payload.envelope));
    const { limitKey } = request;
    const chargingInput = limitKey && this.#context.protection.limits?.limiter.chargeInput(limitKey, classified);
    if (chargingInput) await chargingInput;
    assertSize(procedure, payload.envelope);
    const idempotent = this.#idempotentCall(authorized, payload, position);
    return { ...authorized, payload, classified, idempotent };
  }

  /**
   * Runs the handler in its turn, checks its reply, and charges its cost. At the deadline a read is given up at once; a
   * write first finds out whether it is stored.
   * @throws AppError OVERLOADED, TIMEOUT, those of the handler, and those of `deliver`
   */
  async invoke(call: AdmittedCall, input: unknown, deliver?: Transport['deliver']): Promise<Reply> {
    const reply = await this.#run(call, input);
    const json = jsonOf(reply);
    call.request.chargeWork?.(json.length / ANSWERED_BYTES_PER_MS);
    deliver?.(call.procedure, json);
    call.observation.answered(json.length);
    return reply;
  }

  /** Begins the observation of a call of the procedure with this id, if it exists. */
  observe(id: string, request: RequestState): BegunCall {
    const observation = this.#observer?.begin(this.#procedures.has(id) ? id : undefined) ?? unobserved;
    return { id, request, observation };
  }

  /** Returns the procedure with this id. @throws AppError PROCEDURE_NOT_FOUND */
  find(id: string): Procedure {
    const procedure = this.#procedures.get(id);
    if (!procedure) throw new AppError('PROCEDURE_NOT_FOUND', { hint: unknownProcedure(id) });
    return procedure;
  }

  /** Returns the caller; undefined for an anonymous one. @throws AppError KEY_…, RATE_LIMITED, TIMEOUT */
  async identify(request: RequestState): Promise<Caller | undefined> {
    const { authorization, address, deadline } = request;
    if (authorization === undefined) return undefined;
    const { auth, protection } = this.#context;
    const lookUp = protection.limits?.limiter.keyLookUp(address, request.noteRateLimit);
    const caller = await deadline.race(auth.keys.verify(keyIn(authorization), lookUp));
    noteUser(authorization, caller.userId);
    request.caller = caller;
    return caller;
  }

  /** Charges the caller for a call, and from now on for its work. @throws AppError RATE_LIMITED */
  charge(request: RequestState, effect: Procedure['effect'] = 'read'): void | Promise<void> {
    const limiter = this.#context.protection.limits?.limiter;
    if (!limiter) return undefined;
    const limitKey = (request.limitKey ??= limiter.keyOf(request.caller, request.address, request.noteRateLimit));
    request.chargeWork ??= (ms) => limiter.chargeWork(limitKey, ms);
    return limiter.chargeCall(limitKey, effect);
  }

  /** Adds to the reply the rate limits that apply to the request, or those of its address if none apply. */
  showRateLimits(request: RequestState): void {
    const limiter = this.#context.protection.limits?.limiter;
    if (limiter) request.rateLimits = new RateLimitHeaders(() => limiter.status(request.address));
  }

  /** Records the failure of a call for telemetry and, unless the caller has left, for the holder of the key. */
  noteFailure({ id, request: { caller, requestId }, observation }: BegunCall, error: unknown): void {
    const failure = toAppError(error);
    observation.failed(failure);
    if (caller && !(error instanceof CallerLeft)) this.#context.auth.uses?.fail(caller.key.id, id, requestId, failure);
  }

  #authorize(procedure: Operation, request: RequestState): void {
    assertAccess(procedure.access, request);
    if (request.caller && !isStream(procedure)) this.#context.auth.uses?.count(request.caller.key.id, procedure.id);
  }

  /** Records which parts of the input a caller sent, and tells the caller which of these are deprecated. */
  #noteInput({ procedure, caller, request }: AuthorizedCall<Operation>, input: unknown): void {
    const { userAgent, idempotencyKey } = request;
    this.#context.auth.uses?.note(procedure.route, { keyId: caller?.key.id, userAgent, idempotencyKey }, input);
    const used = procedure.deprecatedParts.input.filter((part) => hasPart(input, part));
    const deprecations = used.map(({ deprecation }) => deprecation);
    request.noteDeprecated(procedure, deprecations);
  }

  /** Returns the idempotent call of a write with an `Idempotency-Key`. @throws AppError IDEMPOTENCY_KEY_INVALID */
  #idempotentCall(
    { procedure, caller, request: { idempotencyKey: key } }: AuthorizedCall<Operation>,
    payload: Payload,
    position: number,
  ): IdempotentCall | undefined {
    if (procedure.effect === 'read' || isStream(procedure) || key === undefined || !caller) return undefined;
    return idempotentCall({
      key,
      apiKeyId: caller.key.id,
      userId: caller.userId,
      operation: procedure.id,
      position,
      input: () => inputOf(payload.envelope),
      encode: (output) => jsonOf(replyOf(procedure, output)).toString(),
    });
  }

  #run(call: AdmittedCall, input: unknown): Promise<Reply> {
    const { procedure, caller, request, payload, classified } = call;
    const { deadline, address, admittedBy, waitedMs } = request;
    const limiter = this.#context.protection.overload.limiterFor(procedure, classified.callClass);
    const work: LimitedWork = {
      caller: caller?.userId ?? clientSubnet(address),
      cost: classified.cost,
      deadline,
      waitedMs,
      admittedBy,
    };
    if (procedure.effect === 'write') return limiter.run(work, () => this.#write(call, input));
    const read = (time: Deadline): Promise<Reply> => this.#handle(call, input, time);
    if (!isShared(call)) return deadline.race(limiter.run(work, () => read(deadline)));
    const enter: Enter = (run, untilBegun) => limiter.run({ ...work, untilBegun }, run);
    const waiter = { caller: work.caller, deadline };
    return deadline.race(this.#shared.answer(keyOf(procedure, payload.text), waiter, enter, read));
  }

  async #handle(call: AdmittedCall, input: unknown, deadline: Deadline): Promise<Reply> {
    const { procedure, caller, request, idempotent } = call;
    try {
      return replyOf(
        procedure,
        await procedure.handle(input, { caller, address: request.address, deadline, idempotent }),
      );
    } catch (error) {
      throw explained(error, call);
    }
  }

  async #write(call: AdmittedCall, input: unknown): Promise<Reply> {
    try {
      return await this.#handle(call, input, call.request.deadline);
    } catch (error) {
      if (!(error instanceof IdempotentReplay)) throw withRetryHint(error, call.idempotent);
      call.request.noteReplay();
      this.#observer?.replayed(call.id);
      return replyAgain(error.answer);
    }
  }
}
