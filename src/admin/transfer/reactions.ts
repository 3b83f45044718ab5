import { And, type FindOperator, In, LessThanOrEqual, MoreThan, Not } from 'typeorm';
import { engagementIn, type EngagementRow, hiddenMarksIn } from '../../content/entity.ts';
import type { ContentKind } from '../../content/kind.ts';
import type { StoredContent } from '../../content/records.ts';
import { grouped } from '../../base/tally.ts';
import type { Reader } from '../../db/connection.ts';
import { partsOf } from '../../db/sql/in-list.ts';
import { idFromBytes, NIL_ID } from '../../db/values.ts';
import { MAX_LISTED } from './format.ts';
import type { Reactions } from './records.ts';

/** A record, and the approximate numbers of its favorites and reactions. */
interface Attended extends Pick<StoredContent, 'id' | 'favoriteCount' | 'likeCount' | 'dislikeCount'> {
  isHidden?: true;
}

/** A favorite or, if it has a type, a reaction. */
type Link = Pick<EngagementRow, 'userId' | 'type'>;

/** Reads some favorites or reactions of a record, by the users that the operator matches, in the order of their ids. */
type ReadLinks = (users: FindOperator<string>) => Promise<Link[]>;

/** The parts of an audience, as an export writes them. */
type Parts = Iterable<Reactions> | AsyncIterable<Reactions>;

/** A larger audience of a record is read page by page. */
const MANY = MAX_LISTED;
const PAGE = { order: { userId: 'ASC' }, take: MAX_LISTED } as const;

/** Reads the users who favorited records or reacted to them; unless `lastUser` is null, only users up to that one. */
export class ReactionsReader {
  readonly #reader: Reader;
  readonly #kind: ContentKind;
  readonly #lastUser: string | null;

  constructor(reader: Reader, kind: ContentKind, lastUser: string | null) {
    this.#reader = reader;
    this.#kind = kind;
    this.#lastUser = lastUser;
  }

  /**
   * The audiences of records, by the ids of the records: each in parts, as an export writes them, sorted by the ids of
   * the users. Every record has a first part.
   */
  async read(records: readonly Attended[]): Promise<Map<string, Parts>> {
    const { favoriteTable, reactionTable } = this.#kind;
    const few = records.filter((one) => !one.isHidden && countOf(one) <= MANY).map(({ id }) => idFromBytes(id));
    const [favorites, reactions] = await Promise.all([
      this.#readFew(favoriteTable, few),
      this.#readFew(reactionTable, few),
    ]);
    return new Map(
      records.map((record): [string, Parts] => {
        const id = idFromBytes(record.id);
        if (record.isHidden) return [id, this.#readMany(this.#hidden(id, true), this.#hidden(id, false))];
        if (countOf(record) > MANY) {
          return [id, this.#readMany(this.#shown(id, favoriteTable), this.#shown(id, reactionTable))];
        }
        return [id, partsOfLinks(favorites.get(id) ?? [], reactions.get(id) ?? [])];
      }),
    );
  }

  async #readFew(table: string, ids: readonly string[]): Promise<Map<string, Link[]>> {
    const lastUser = this.#lastUser;
    const links: EngagementRow[] = [];
    for (const part of partsOf(ids)) {
      const where = { recordId: In(part), ...(lastUser !== null && { userId: LessThanOrEqual(lastUser) }) };
      const order = { recordId: 'ASC', userId: 'ASC' } as const;
      for (const link of await engagementIn(this.#reader, table).find({ where, order })) links.push(link);
    }
    return grouped(links, ({ recordId }) => recordId);
  }

  async *#readMany(readFavorites: ReadLinks, readReactions: ReadLinks): AsyncGenerator<Reactions> {
    const favorites = this.#pages(readFavorites);
    const reactions = this.#pages(readReactions);
    for (let isFirst = true; ; isFirst = false) {
      const [some, others] = [await favorites.next(), await reactions.next()];
      if (some.done === true && others.done === true && !isFirst) return;
      yield reactionsOf(some.done === true ? [] : some.value, others.done === true ? [] : others.value);
    }
  }

  #shown(recordId: string, table: string): ReadLinks {
    return (userId) => engagementIn(this.#reader, table).find({ where: { recordId, userId }, ...PAGE });
  }

  #hidden(recordId: string, areFavorites: boolean): ReadLinks {
    return async (userId) => {
      const mark = areFavorites ? ('favorite' as const) : Not('favorite' as const);
      const rows = await hiddenMarksIn(this.#reader).find({ where: { recordId, userId, mark }, ...PAGE });
      return rows.map((row) => ({ userId: row.userId, ...(row.mark !== 'favorite' && { type: row.mark }) }));
    };
  }

  async *#pages(read: ReadLinks): AsyncGenerator<Link[]> {
    for (let after = NIL_ID; ;) {
      const later = MoreThan(after);
      const rows = await read(this.#lastUser === null ? later : And(later, LessThanOrEqual(this.#lastUser)));
      const last = rows.at(-1);
      if (!last) return;
      yield rows;
      if (rows.length < MAX_LISTED) return;
      after = last.userId;
    }
  }
}

const countOf = ({ favoriteCount, likeCount, dislikeCount }: Attended): number =>
  Math.max(favoriteCount, likeCount + dislikeCount);

const reactionsOf = (favorites: readonly Link[], reactions: readonly Link[]): Reactions => {
  const reacting = (type: Link['type']): string[] =>
    reactions.filter((link) => link.type === type).map(({ userId }) => userId);
  return {
    favorites: favorites.map(({ userId }) => userId),
    likes: reacting('like'),
    dislikes: reacting('dislike'),
  };
};

const partsOfLinks = (favorites: readonly Link[], reactions: readonly Link[]): Reactions[] => {
  const count = Math.max(1, Math.ceil(Math.max(favorites.length, reactions.length) / MAX_LISTED));
  const slice = (links: readonly Link[], part: number): readonly Link[] =>
    count === 1 ? links : links.slice(part * MAX_LISTED, (part + 1) * MAX_LISTED);
  return Array.from({ length: count }, (_, part) => reactionsOf(slice(favorites, part), slice(reactions, part)));
};
