import { currentTime, sleep } from '../../src/base/runtime.ts';
import { AppError } from '../../src/base/errors.ts';
import type { Connection, Statements } from '../../src/db/connection.ts';
import type { Random } from '../../src/sandbox/seed/random.ts';

/** The part of the statements that take some milliseconds, and how many; the others take none. */
const SLOW = 0.1;
const SLOW_MS = [1, 30] as const;
/** The part of the statements whose connection breaks, and of the commits whose answer is lost. */
const BROKEN = 0.002;
const LOST_COMMITS = 0.01;

/** A broken connection to the database. */
class ConnectionFault extends Error {}

/** The instance has been killed. */
class Killed extends Error {}

/** A promise of its own each time: one for all would keep what waits for it. */
const never = (): Promise<never> => new Promise(() => undefined);

/** The way of one instance to the database: statements are slow, fail, and are never answered once the instance is killed. */
export class DatabaseLink {
  readonly #random: Random;
  readonly #note: (line: string) => void;
  /** The times until which statements are not answered, and until which they fail. */
  readonly #until = { stall: 0, unreachable: 0 };
  #isKilled = false;
  #kill!: (reason: Killed) => void;
  readonly #killed = new Promise<never>((_, reject) => (this.#kill = reject));

  constructor(random: Random, note: (line: string) => void) {
    this.#random = random;
    this.#note = note;
    this.#killed.catch(() => undefined);
  }

  /** Has statements wait, or fail, for a time in milliseconds. */
  fail(fault: 'stall' | 'unreachable', ms: number): void {
    this.#until[fault] = currentTime() + ms;
  }

  /** Undoes the transaction under way: its instance is no more. */
  kill(): void {
    this.#isKilled = true;
    this.#kill(new Killed());
  }

  /** The connection of this instance to a database that others use as well. */
  over(shared: Connection): Connection {
    return {
      ...shared,
      read: async (sql, parameters, deadline, workload) => {
        await this.#answered(sql);
        const rows = await shared.read(sql, parameters, deadline, workload);
        await this.#alive();
        return rows;
      },
      transaction: async (work, deadline, workload) => {
        await this.#answered('BEGIN');
        const through = (statements: Statements): Statements => ({
          read: async (sql, parameters) => {
            await this.#answered(sql);
            return statements.read(sql, parameters);
          },
          execute: async (sql, parameters) => {
            await this.#answered(sql);
            return statements.execute(sql, parameters);
          },
        });
        const result = await shared
          .transaction(
            (statements) =>
              Promise.race([
                this.#killed,
                work(through(statements)).then(async (done) => {
                  await this.#answered('COMMIT');
                  return done;
                }),
              ]),
            deadline,
            workload,
          )
          .catch((error: unknown) => (error instanceof Killed ? never() : Promise.reject(error)));
        await this.#alive();
        if (this.#random.chance(LOST_COMMITS)) throw new AppError('OUTCOME_UNKNOWN', { cause: new ConnectionFault() });
        return result;
      },
      faultOf: (error) => (error instanceof ConnectionFault ? 'unreachable' : shared.faultOf(error)),
      // The database outlives the instance.
      close: async () => undefined,
    };
  }

  /** Resolves when the database has the next statement. */
  async #answered(sql: string): Promise<void> {
    if (this.#random.chance(SLOW)) await sleep(this.#random.between(...SLOW_MS));
    await this.#alive();
    this.#note(sql);
    if (currentTime() < this.#until.unreachable || this.#random.chance(BROKEN)) throw new ConnectionFault();
  }

  async #alive(): Promise<void> {
    while (currentTime() < this.#until.stall) await sleep(this.#until.stall - currentTime());
    if (this.#isKilled) await never();
  }
}
