import { ANSWERED_BYTES_PER_MS, SENT_BYTES_PER_MS } from '../../contract/index.ts';
import type { Context } from '../context.ts';
import type { Deadline } from '../deadline.ts';
import { AppError } from '../errors.ts';
import type { Caller, KeyVerifier } from '../key/verifier.ts';
import type { Arrival } from './arrival.ts';
import { assertAccess, identify } from './access.ts';
import type { Sent } from './envelope.ts';
import { type Account, costsByInput, type Rates } from '../limits/rates.ts';
import type { Call } from '../procedure.ts';
import type { Procedure, Procedures } from './procedures.ts';
import { SharedReads } from './shared-reads.ts';

/**
 * What is done with a call that may be done: parse what was sent by the contract, handle it, check and strip the reply.
 * @throws AppError VALIDATION_FAILED and whatever the handler throws
 */
export type Frame = (procedure: Procedure, sent: unknown, call: Call) => Promise<unknown>;

/** A call that may be made. */
export interface Admitted {
  procedure: Procedure;
  /** Undefined for nobody in particular. */
  caller: Caller | undefined;
  arrival: Arrival;
  /** Who pays for it, where that is counted. */
  account: Account | undefined;
}

const inputOf = (envelope: unknown): unknown =>
  typeof envelope === 'object' && envelope !== null ? (envelope as { json?: unknown }).json : undefined;

/** Reads of one record count its views and meet in the database layer, so they are not shared here. */
const isShared = ({ procedure: { id, effect }, caller }: Admitted): boolean =>
  effect === 'read' && caller === undefined && !/\.(getById|getProfile)$/.test(id);

/**
 * The one way of a call, whichever door it came through: find the procedure → who calls → may they, so often → parse →
 * handle → check → reply. What a door demands or reads by its own rules it does between these steps.
 */
export class Calls {
  readonly #procedures: Procedures;
  readonly #keys: KeyVerifier;
  readonly #frame: Frame;
  readonly #rates: Rates | undefined;
  readonly #shared = new SharedReads<Buffer>();

  constructor({ keys, limits }: Pick<Context, 'keys' | 'limits'>, procedures: Procedures, frame: Frame) {
    this.#procedures = procedures;
    this.#keys = keys;
    this.#frame = frame;
    this.#rates = limits?.rates;
  }

  /** The procedure with this id. @throws AppError PROCEDURE_NOT_FOUND */
  find(id: string): Procedure {
    const procedure = this.#procedures.get(id);
    if (!procedure) throw new AppError('PROCEDURE_NOT_FOUND');
    return procedure;
  }

  /**
   * Finds out who calls, and whether they may, and charges what is known of the call.
   * @throws AppError KEY_…, SCOPE_MISSING, RATE_LIMITED, TIMEOUT
   */
  async admit(procedure: Procedure, arrival: Arrival): Promise<Admitted> {
    const { authorization, address, deadline, learn, note } = arrival;
    const caller =
      authorization === undefined
        ? undefined
        : await deadline.race(identify(this.#keys, authorization, this.#rates?.lookUp(address, note)));
    learn(caller);
    assertAccess(procedure.access, caller);
    const account = this.#rates?.accountOf(caller?.key.id, address, note);
    const entering = account && this.#enter(account, procedure, deadline);
    if (entering) await entering;
    return { procedure, caller, arrival, account };
  }

  /** Bills the caller for so many bytes of a body. */
  billBody({ deadline }: Arrival, bytes: number): void {
    deadline.bill?.(bytes / SENT_BYTES_PER_MS);
  }

  /**
   * Makes the call. Returns the JSON of the reply, encoded once for all who share it. At the deadline a read is given up
   * at once; a write itself has to find out whether it is stored.
   * @throws AppError MALFORMED_JSON, VALIDATION_FAILED, RATE_LIMITED, TIMEOUT, …
   */
  async perform(admitted: Admitted, sent: Sent): Promise<Buffer> {
    const { procedure, account, arrival } = admitted;
    if (account && costsByInput(procedure)) await this.#rates?.chargeInput(account, procedure, inputOf(sent.parse()));
    const answer = await this.#make(admitted, sent);
    arrival.deadline.bill?.(answer.length / ANSWERED_BYTES_PER_MS);
    return answer;
  }

  #enter(account: Account, { effect }: Procedure, deadline: Deadline): void | Promise<void> {
    deadline.bill = (ms) => this.#rates?.bill(account, ms);
    return this.#rates?.enter(account, effect);
  }

  #make(admitted: Admitted, sent: Sent): Promise<Buffer> {
    const { procedure, caller, arrival } = admitted;
    const run = async (deadline: Deadline) =>
      Buffer.from(
        JSON.stringify(await this.#frame(procedure, sent.parse(), { caller, address: arrival.address, deadline })),
      );
    if (procedure.effect === 'write') return run(arrival.deadline);
    return arrival.deadline.race(
      isShared(admitted)
        ? this.#shared.answer(`${procedure.id} ${sent.text}`, arrival.deadline, run)
        : run(arrival.deadline),
    );
  }
}
