import type { Context } from '../context.ts';
import type { Deadline } from '../deadline.ts';
import { AppError } from '../errors.ts';
import { Replay } from '../idempotency/repeatable.ts';
import type { Caller, KeyVerifier } from '../key/verifier.ts';
import type { Arrival } from './arrival.ts';
import { assertAccess, identify } from './access.ts';
import { inputOf, type Sent } from './envelope.ts';
import { adviceOn, repeatableOf } from './repeats.ts';
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
}

/** Reads of one record count its views and meet in the database layer, so they are not shared here. */
const isShared = ({ procedure: { id, effect }, caller }: Admitted): boolean =>
  effect === 'read' && caller === undefined && !/\.(getById|getProfile)$/.test(id);

/**
 * The one way of a call, whichever door it came through: find the procedure → who calls → may they → parse → handle →
 * check → reply. What a door demands or reads by its own rules it does between these steps.
 */
export class Calls {
  readonly #procedures: Procedures;
  readonly #keys: KeyVerifier;
  readonly #frame: Frame;
  readonly #shared = new SharedReads<Buffer>();

  constructor({ keys }: Pick<Context, 'keys'>, procedures: Procedures, frame: Frame) {
    this.#procedures = procedures;
    this.#keys = keys;
    this.#frame = frame;
  }

  /** The procedure with this id. @throws AppError PROCEDURE_NOT_FOUND */
  find(id: string): Procedure {
    const procedure = this.#procedures.get(id);
    if (!procedure) throw new AppError('PROCEDURE_NOT_FOUND');
    return procedure;
  }

  /**
   * Finds out who calls, and whether they may.
   * @throws AppError KEY_…, SCOPE_MISSING, TIMEOUT
   */
  async admit(procedure: Procedure, arrival: Arrival): Promise<Admitted> {
    const { authorization, deadline, learn } = arrival;
    const caller = authorization === undefined ? undefined : await deadline.race(identify(this.#keys, authorization));
    learn(caller);
    assertAccess(procedure.access, caller);
    return { procedure, caller, arrival };
  }

  /**
   * Makes the call. Returns the JSON of the reply, encoded once for all who share it. At the deadline a read is given up
   * at once; a write itself has to find out whether it is stored.
   * `position` is its place in a batch. @throws AppError MALFORMED_JSON, VALIDATION_FAILED, TIMEOUT, …
   */
  perform(admitted: Admitted, sent: Sent, position = 0): Promise<Buffer> {
    const { procedure, caller, arrival } = admitted;
    const run = async (deadline: Deadline) =>
      Buffer.from(JSON.stringify(await this.#frame(procedure, sent.parse(), { caller, deadline })));
    if (procedure.effect === 'write') return this.#write(admitted, sent, position);
    return arrival.deadline.race(
      isShared(admitted)
        ? this.#shared.answer(`${procedure.id} ${sent.text}`, arrival.deadline, run)
        : run(arrival.deadline),
    );
  }

  async #write({ procedure, caller, arrival }: Admitted, sent: Sent, position: number): Promise<Buffer> {
    const { deadline, idempotencyKey } = arrival;
    const envelope = sent.parse();
    const repeatable = repeatableOf(procedure, caller, { idempotencyKey, position, input: () => inputOf(envelope) });
    try {
      return Buffer.from(JSON.stringify(await this.#frame(procedure, envelope, { caller, deadline, repeatable })));
    } catch (error) {
      if (!(error instanceof Replay)) throw adviceOn(error, repeatable);
      arrival.noteReplay();
      return Buffer.from(error.answer);
    }
  }
}
