import type { ContentKind } from '../kind.ts';
import { ForeignKeyError } from '../../db/connection.ts';
import type { Database } from '../../db/database.ts';
import { AMONG_LOCKS, GroupCommit } from '../../db/batching/group-commit.ts';
import { idToBytes } from '../../db/values.ts';
import { Deadline } from '../../base/deadline.ts';
import { AppError } from '../../base/errors.ts';
import { doTogether, type WriteResult, type Writes } from '../../auth/idempotency/writes.ts';
import type { Caller } from '../../auth/verifier.ts';
import type { Call } from '../../auth/procedure.ts';
import { showing } from '../../auth/idempotency/call.ts';
import { type ToggleOutcome, type Reaction, tableOf, type Toggle, toggleInOrder } from './toggle.ts';

/** The record was locked, so only the other row that a mark refers to can be missing: the deleted user. */
const toCaller = (error: unknown): never => {
  throw error instanceof ForeignKeyError ? new AppError('KEY_UNKNOWN', { cause: error }) : error;
};

/** The favorite as the caller sees it. */
export interface FavoriteState {
  favorited: boolean;
  favoriteCount: number;
}

/** The reaction as the caller sees it. */
export interface ReactionState {
  reaction: Reaction | null;
  likeCount: number;
  dislikeCount: number;
}

/** Idempotent toggles form separate groups: only their transactions are retried after an unknown outcome. */
const groupOf = (toggle: Toggle): string => (toggle.idempotent ? `${tableOf(toggle)} once` : tableOf(toggle));

/**
 * Favorites and reactions. Concurrent toggles are stored in groups. The toggles of one record form one group after
 * another, so that a locked record only delays its own; the groups of several records of a kind are stored at once.
 */
export class Toggles {
  readonly #writes: Writes;
  readonly #ofRecord: GroupCommit<Toggle, WriteResult>;

  constructor(db: Database, writes: Writes, now: () => Date) {
    this.#writes = writes;
    const together = new GroupCommit<readonly Toggle[], readonly WriteResult[]>(
      async (parts, deadline, onCommit) => {
        const toggles = parts.flat();
        const results = await doTogether(db, toggles, { now, deadline, onCommit }, toggleInOrder);
        let taken = 0;
        return parts.map(({ length }) => results.slice(taken, (taken += length)));
      },
      { ...AMONG_LOCKS, isPipelined: true },
    );
    const keyOf = (toggle: Toggle): string => `${groupOf(toggle)} ${db.dialect.batchKey(toggle.id)}`;
    this.#ofRecord = new GroupCommit((toggles, deadline) =>
      together.do(keyOf(toggles[0]!), toggles, deadline ?? new Deadline()),
    );
  }

  /**
   * Makes the record a favorite of the user, or removes it if it is one. `view` builds the output from the state.
   * @throws AppError the kind's NOT_FOUND, KEY_UNKNOWN where the user was deleted meanwhile, and as `Writes.do`
   */
  favorite<Output>(
    kind: ContentKind,
    id: string,
    call: Call<Caller>,
    view: (state: FavoriteState) => Output,
  ): Promise<Output> {
    return this.#toggle({ kind, id, mark: 'favorite' }, call, ({ mark, favoriteCount }) =>
      view({ favorited: mark !== null, favoriteCount }),
    );
  }

  /**
   * Sets the user's reaction to the record. The same reaction again removes it; the other one replaces it. `view`
   * builds the output from the state.
   * @throws AppError the kind's NOT_FOUND, KEY_UNKNOWN where the user was deleted meanwhile, and as `Writes.do`
   */
  react<Output>(
    kind: ContentKind,
    id: string,
    type: Reaction,
    call: Call<Caller>,
    view: (state: ReactionState) => Output,
  ): Promise<Output> {
    return this.#toggle({ kind, id, mark: type }, call, ({ mark, likeCount, dislikeCount }) =>
      view({ reaction: mark as Reaction | null, likeCount, dislikeCount }),
    );
  }

  async #toggle<Output>(
    { kind, id, mark }: Pick<Toggle, 'kind' | 'id' | 'mark'>,
    { caller: { userId }, deadline, idempotent: call }: Call<Caller>,
    view: (outcome: ToggleOutcome) => Output,
  ): Promise<Output> {
    if (!idToBytes(id)) throw new AppError(kind.notFound);
    const idempotent = showing(call, { table: kind.table, idsIn: () => [id], gone: kind.notFound });
    const toggle: Toggle = { kind, id, userId, mark, idempotent, view };
    const store = (): Promise<WriteResult> =>
      this.#ofRecord.do(`${groupOf(toggle)} ${id}`, toggle, deadline).catch(toCaller);
    return this.#writes.outputOf<Output>(idempotent, store);
  }
}
