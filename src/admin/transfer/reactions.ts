import type { ContentKind } from '../../content/kind.ts';
import type { Parameter, Reader } from '../../db/connection.ts';
import { inList, partsOf } from '../../db/sql/in-list.ts';
import { type Bytes, idFromBytes, storedIdToBytes } from '../../db/values.ts';
import { type Reactions, MAX_LISTED } from './format.ts';

/** A record, and about how many have it as a favorite or reacted to it. */
export interface Attended {
  id: Bytes;
  favorite_count: number;
  like_count: number;
  dislike_count: number;
  isHidden?: true;
}

interface ReactionLink {
  id: Bytes;
  userId: Bytes;
  type?: 'like' | 'dislike';
}

/** The rows from which the favorites or reactions of a record are read. */
interface ReactionSource {
  from: string;
  columns: string;
  where: string;
}

type EngagementRows = Record<'favorites' | 'reactions', ReactionSource>;

const hiddenEngagement: EngagementRows = {
  favorites: { from: 'hidden_marks', columns: '', where: "record_id = ? AND mark = 'favorite'" },
  reactions: { from: 'hidden_marks', columns: ', mark AS type', where: "record_id = ? AND mark <> 'favorite'" },
};

/** An audience, in the parts in which it is written. */
type Parts = Iterable<Reactions> | AsyncIterable<Reactions>;

/** Beyond this, the audience of a record is read page by page. */
const MANY = MAX_LISTED;

/** Reads who favorited records and reacted to them; of users up to `lastUser` only, if it is not null. */
export class ReactionsReader {
  readonly #reader: Reader;
  readonly #kind: ContentKind;
  readonly #upTo: string;
  readonly #upToParameters: readonly Parameter[];

  constructor(reader: Reader, kind: ContentKind, lastUser: string | null) {
    this.#reader = reader;
    this.#kind = kind;
    this.#upTo = lastUser === null ? '' : 'AND user_id <= ?';
    this.#upToParameters = lastUser === null ? [] : [storedIdToBytes(lastUser)];
  }

  /**
   * The audiences of records, by their ids: each in the parts in which it is written, sorted by the ids of the users. The
   * first part is there for every record.
   */
  async read(records: readonly Attended[]): Promise<Map<string, Parts>> {
    const few = records.filter((one) => !one.isHidden && countOf(one) <= MANY).map(({ id }) => id);
    const [favorites, reactions] = await Promise.all([
      this.#readFew(this.#kind.favoriteTable, '', few),
      this.#readFew(this.#kind.reactionTable, ', type', few),
    ]);
    return new Map(
      records.map((record): [string, Parts] => {
        const id = idFromBytes(record.id);
        if (record.isHidden) return [id, this.#readMany(record.id, hiddenEngagement)];
        if (countOf(record) > MANY) return [id, this.#readMany(record.id, this.#engagementRows)];
        return [id, partsOfLinks(favorites.get(id) ?? [], reactions.get(id) ?? [])];
      }),
    );
  }

  async #readFew(table: string, columns: string, ids: readonly Bytes[]): Promise<Map<string, ReactionLink[]>> {
    const { foreignKey } = this.#kind;
    const links = new Map<string, ReactionLink[]>();
    for (const part of partsOf(ids)) {
      const { sql, parameters } = inList(part);
      const rows = await this.#reader.read<ReactionLink>(
        `SELECT ${foreignKey} AS id, user_id AS userId${columns} FROM ${table}
        WHERE ${foreignKey} IN (${sql}) ${this.#upTo} ORDER BY ${foreignKey}, user_id`,
        [...parameters, ...this.#upToParameters],
      );
      for (const row of rows) {
        const id = idFromBytes(row.id);
        const known = links.get(id);
        if (known) known.push(row);
        else links.set(id, [row]);
      }
    }
    return links;
  }

  async *#readMany(id: Bytes, engagement: EngagementRows): AsyncGenerator<Reactions> {
    const favorites = this.#pages(engagement.favorites, id);
    const reactions = this.#pages(engagement.reactions, id);
    for (let isFirst = true; ; isFirst = false) {
      const [some, others] = [await favorites.next(), await reactions.next()];
      if (some.done === true && others.done === true && !isFirst) return;
      yield reactionsOf(some.done === true ? [] : some.value, others.done === true ? [] : others.value);
    }
  }

  get #engagementRows(): EngagementRows {
    const { favoriteTable, reactionTable, foreignKey } = this.#kind;
    const where = `${foreignKey} = ?`;
    return {
      favorites: { from: favoriteTable, columns: '', where },
      reactions: { from: reactionTable, columns: ', type', where },
    };
  }

  async *#pages({ from, columns, where }: ReactionSource, id: Bytes): AsyncGenerator<ReactionLink[]> {
    for (let after: Bytes = Buffer.alloc(0); ;) {
      const rows = await this.#reader.read<ReactionLink>(
        `SELECT user_id AS userId${columns} FROM ${from}
        WHERE ${where} AND user_id > ? ${this.#upTo} ORDER BY user_id LIMIT ${MAX_LISTED}`,
        [id, after, ...this.#upToParameters],
      );
      const last = rows.at(-1);
      if (!last) return;
      yield rows;
      if (rows.length < MAX_LISTED) return;
      after = last.userId;
    }
  }
}

const countOf = ({ favorite_count: favorites, like_count: likes, dislike_count: dislikes }: Attended): number =>
  Math.max(favorites, likes + dislikes);

const reactionsOf = (favorites: readonly ReactionLink[], reactions: readonly ReactionLink[]): Reactions => {
  const reacting = (type: ReactionLink['type']): string[] =>
    reactions.filter((link) => link.type === type).map(({ userId }) => idFromBytes(userId));
  return {
    favorites: favorites.map(({ userId }) => idFromBytes(userId)),
    likes: reacting('like'),
    dislikes: reacting('dislike'),
  };
};

const partsOfLinks = (favorites: readonly ReactionLink[], reactions: readonly ReactionLink[]): Reactions[] => {
  const count = Math.max(1, Math.ceil(Math.max(favorites.length, reactions.length) / MAX_LISTED));
  const slice = (links: readonly ReactionLink[], part: number): readonly ReactionLink[] =>
    count === 1 ? links : links.slice(part * MAX_LISTED, (part + 1) * MAX_LISTED);
  return Array.from({ length: count }, (_, part) => reactionsOf(slice(favorites, part), slice(reactions, part)));
};
