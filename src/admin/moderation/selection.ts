import { In } from 'typeorm';
import { findRange } from '../../content/read/find.ts';
import { recordsIn } from '../../content/entity.ts';
import type { ContentKind } from '../../content/kind.ts';
import type { Database } from '../../db/database.ts';
import { idFromBytes, storedIdToBytes, timeFromDb } from '../../db/values.ts';
import { searchText } from '../../search/text.ts';
import { listHidden } from './hidden/read.ts';
import { keptTagNames } from './hidden/snapshot.ts';

/** Conditions on records of a kind: a record is selected if it satisfies all given ones. */
export interface Selection {
  authorId?: string | undefined;
  /** The time of publication: `since` or later, and before `until`. */
  since?: Date | undefined;
  until?: Date | undefined;
  /** Parts of the search text, which must contain all of them. */
  terms?: readonly string[];
  /** The reason why a record is hidden by itself. */
  reason?: string | undefined;
}

/** A selected record. */
interface Selected {
  id: string;
  createdAt: string;
  authorId: string;
  title: string;
}

/** A selected hidden record. */
interface SelectedHidden extends Selected {
  /** The time since when it is hidden by itself, and the reason. */
  hiddenAt: string | null;
  hiddenReason: string | null;
  /** The time since when it is hidden with its author. */
  authorHiddenAt: string | null;
}

/** Yields the selected records in batches. */
export type Select<Row = Selected> = (db: Database, kind: ContentKind, selection: Selection) => AsyncGenerator<Row[]>;

/** Few enough that one transaction may change them. */
const AT_ONCE = 100;

const holds = (text: string, terms: readonly string[]): boolean => terms.every((term) => text.includes(term));

/** Published records, oldest first. */
export const selectPublished: Select = async function* (db, kind, { authorId, since, until, terms = [] }) {
  const author = authorId === undefined ? undefined : storedIdToBytes(authorId);
  for await (const ids of findRange(db, kind, { authorId: author, since, until })) {
    for (let start = 0; start < ids.length; start += AT_ONCE) {
      const rows = await recordsIn(db, kind).find({
        select: { id: true, createdAt: true, authorId: true, title: true, searchText: true },
        where: { id: In(ids.slice(start, start + AT_ONCE).map(idFromBytes)) },
        order: { createdAt: 'ASC', id: 'ASC' },
      });
      yield rows
        .filter(({ searchText: text }) => holds(text, terms))
        .map(({ id, createdAt, authorId: by, title }) => ({
          id,
          createdAt: createdAt.toISOString(),
          authorId: by,
          title,
        }));
    }
  }
};

/** Hidden records, in the order of their ids. */
export const selectHidden: Select<SelectedHidden> = async function* (db, kind, selection) {
  const { authorId, since = new Date(0), until, terms = [], reason } = selection;
  for await (const rows of listHidden(db, kind, authorId)) {
    const found = rows
      .filter(({ kept }) => {
        const texts = [kept.title, ...kind.searchedTexts(kept as never), ...keptTagNames(kept)];
        const at = new Date(timeFromDb(kept.createdAt));
        return at >= since && (until === undefined || at < until) && holds(searchText(texts), terms);
      })
      .map((row) => ({
        id: row.recordId,
        createdAt: timeFromDb(row.kept.createdAt),
        authorId: row.authorId,
        title: row.kept.title,
        hiddenAt: row.hiddenAt?.toISOString() ?? null,
        hiddenReason: row.reason,
        authorHiddenAt: row.authorHiddenAt?.toISOString() ?? null,
      }));
    yield found.filter(({ hiddenReason }) => reason === undefined || hiddenReason === reason);
  }
};

/** Records to hide by themselves: published records, and records that are hidden with their authors only. */
export const selectToHide: Select = async function* (db, kind, selection) {
  yield* selectPublished(db, kind, selection);
  for await (const rows of selectHidden(db, kind, selection)) {
    yield rows.filter(({ hiddenReason }) => hiddenReason === null);
  }
};

/**
 * Records to show again: records that are hidden by themselves, and records without a reason, for which showing was
 * interrupted.
 */
export const selectToShow: Select = async function* (db, kind, { reason, ...selection }) {
  for await (const rows of selectHidden(db, kind, selection)) {
    yield rows.filter(({ hiddenReason, authorHiddenAt }) =>
      hiddenReason === null ? authorHiddenAt === null : reason === undefined || hiddenReason === reason,
    );
  }
};

/** Records, including hidden ones. */
export const selectAll: Select = async function* (db, kind, selection) {
  yield* selectPublished(db, kind, selection);
  yield* selectHidden(db, kind, selection);
};
