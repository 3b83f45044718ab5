import { setImmediate } from '../../base/runtime.ts';
import type { Database } from '../../db/database.ts';
import { AppError } from '../../base/errors.ts';
import { searchKinds } from '../../app/schema.ts';
import { Indexer } from '../../search/indexing/indexer.ts';
import { type Batch, batchesOf, type BatchEntry, type LineFault } from './batches.ts';
import { BadLine, FORMAT, tableOf, TransferError, VERSION } from './format.ts';
import { type Line, readLines } from './lines.ts';
import { readHeader } from './output.ts';
import { addReady, type Checked, type ImportedRecord, type LineKind, type LineOf, namedUsers } from './records.ts';
import { findIds, store } from './store.ts';

/** The counts of an import. */
export interface Imported {
  users: number;
  games: number;
  images: number;
  /** Records that existed already, by their ids, and stayed unchanged. */
  existing: number;
  /** Lines that were left out. */
  bad: number;
  /** The last line that is stored or existed already. */
  lastLine: number;
  /** Whether the last line of the export was found. */
  isComplete: boolean;
}

interface ImportOptions {
  /** Whether to leave bad lines out, instead of stopping at the first batch with one. */
  skipBad: boolean;
  /** Whether to store nothing. */
  dryRun: boolean;
  /** Called for each bad line, before any line of its batch is stored. */
  onBad: (fault: LineFault) => void;
}

/** The error if lines cannot be imported; `onBad` was called for each. The batches before theirs are stored. */
export class BadLines extends Error {
  readonly imported: Imported;

  constructor(imported: Imported) {
    super('bad lines');
    this.imported = imported;
  }
}

/** The lines of a batch to be stored. */
interface Ready {
  /** The last line number of the batch; the lines themselves are no longer needed in memory. */
  last: number;
  checked: Checked;
  numbers: Map<object, number>;
  faults: LineFault[];
  existing: number;
}

const isEmpty = ({ users, games, images, audiences }: Checked): boolean =>
  users.length + games.length + images.length + audiences.length === 0;

/** Imports a file from chunks of bytes; see `Importer`. @throws BadLines, TransferError, AppError */
export const importLines = (db: Database, chunks: AsyncIterable<Buffer>, options: ImportOptions): Promise<Imported> =>
  new Importer(db, options).run(chunks);

/**
 * Stores the records of a file batch by batch, each completely or not at all. Existing records stay unchanged, so that
 * a file can be imported again after an interruption: it skips stored records. While a batch is stored, the next one is
 * read and checked, and the previous one is indexed for search.
 */
class Importer {
  readonly #db: Database;
  readonly #options: ImportOptions;
  readonly #indexer: Indexer;
  /** The current or last run of the indexer. */
  #indexed: Promise<unknown> = Promise.resolve();
  #isIndexing = false;
  /** The users that a dry run would have stored. */
  readonly #wouldBe = new Set<string>();
  /** The records of the last batch that a dry run would have stored: further lines may refer to them. */
  #wouldBeRecords = new Set<string>();
  /** The records of the batch that is being stored. */
  #underWay = new Set<string>();
  readonly #imported: Imported = {
    users: 0,
    games: 0,
    images: 0,
    existing: 0,
    bad: 0,
    lastLine: 1,
    isComplete: false,
  };

  constructor(db: Database, options: ImportOptions) {
    this.#db = db;
    this.#options = options;
    // A long tail would keep searches of a running service from using the index.
    this.#indexer = new Indexer(db, searchKinds);
  }

  async run(chunks: AsyncIterable<Buffer>): Promise<Imported> {
    const lines = afterHeader(readLines(chunks));
    const batches = batchesOf(lines, () => (this.#imported.isComplete = true));
    try {
      let storing: Promise<void> = Promise.resolve();
      for await (const batch of batches) {
        const ready = await this.#prepare(batch);
        await storing;
        storing = this.#finish(ready);
        // It is awaited below, but may fail earlier.
        storing.catch(() => undefined);
      }
      await storing;
      await this.#indexed;
      if (!this.#options.dryRun) await this.#indexer.work();
    } finally {
      await this.#indexer.close();
      await this.#indexed.catch(() => undefined);
    }
    return this.#imported;
  }

  /** Indexes the stored records during the next batches: merging large segments takes longer than a batch. */
  async #index(): Promise<void> {
    if (this.#isIndexing) return;
    // Rejects if the last run failed.
    await this.#indexed;
    this.#isIndexing = true;
    this.#indexed = this.#indexer.work().finally(() => (this.#isIndexing = false));
    this.#indexed.catch(() => undefined);
  }

  /** Checks everything that can be checked before the previous batch is stored. */
  async #prepare(batch: Batch): Promise<Ready> {
    const fresh = await this.#withoutExisting(batch.entries);
    const faults = [...batch.faults];
    const checked: Checked = { users: [], games: [], images: [], audiences: [] };
    const numbers = new Map<object, number>();
    for (const [index, { kind, value, number }] of fresh.entries()) {
      // The batch that is being stored must not wait for all of them.
      if (index % CHECKED_AT_ONCE === CHECKED_AT_ONCE - 1) await immediate();
      try {
        numbers.set(addReady(checked, kind, value), number);
      } catch (error) {
        if (!(error instanceof BadLine)) throw error;
        faults.push({ number, message: error.message });
      }
    }
    return { last: batch.last, checked, numbers, faults, existing: batch.entries.length - fresh.length };
  }

  /** The entries that are neither stored nor repeated. Entries of audiences are always stored again. */
  async #withoutExisting(entries: readonly BatchEntry[]): Promise<BatchEntry[]> {
    const known = new Map<LineKind, ReadonlySet<string>>();
    for (const kind of ['user', 'game', 'image'] as const) {
      const ids = entries.filter((entry) => entry.kind === kind).map(({ value }) => value.id);
      if (ids.length > 0) known.set(kind, await findIds(this.#db, tableOf[kind], ids));
    }
    const fresh = new Set<string>();
    const left: BatchEntry[] = [];
    for (const entry of entries) {
      const { kind, value } = entry;
      const key = `${kind} ${value.id}`;
      const isAudience = kind === 'audience';
      if (!isAudience && (known.get(kind)?.has(value.id) || this.#underWay.has(key) || fresh.has(key))) continue;
      if (!isAudience) fresh.add(key);
      left.push(entry);
    }
    this.#underWay = fresh;
    return left;
  }

  /** Stores a batch, or throws. */
  async #finish(ready: Ready): Promise<void> {
    const { dryRun, skipBad } = this.#options;
    const faults = [...ready.faults, ...(await this.#dangling(ready, ['audiences']))];
    // A batch reports all its faults at once. Hidden records have no foreign key to users, so this checks their users.
    const isSomeHidden = [...ready.checked.games, ...ready.checked.images].some(({ isHidden }) => isHidden);
    if (dryRun || isSomeHidden || faults.length > 0) faults.push(...(await this.#dangling(ready, ALL)));
    this.#refuse(faults);
    if (dryRun) {
      for (const { id } of ready.checked.users) this.#wouldBe.add(id);
      this.#wouldBeRecords = new Set(
        [...ready.checked.games, ...ready.checked.images, ...ready.checked.audiences].map(({ id }) => id),
      );
    } else {
      await this.#store(ready, skipBad);
      await this.#index();
    }
    const { users, games, images } = ready.checked;
    this.#imported.users += users.length;
    this.#imported.games += games.length;
    this.#imported.images += images.length;
    this.#imported.existing += ready.existing;
    this.#imported.lastLine = ready.last;
  }

  async #store(ready: Ready, isAgain: boolean): Promise<void> {
    if (isEmpty(ready.checked)) return;
    try {
      await this.#db.transaction((tx) => store(tx, ready.checked));
    } catch (error) {
      if (error instanceof AppError) throw error;
      // A row that refers to a missing user reveals it: a check in advance would add a second to every ten.
      const dangling = await this.#dangling(ready, ALL);
      if (dangling.length === 0) throw error;
      this.#refuse(dangling);
      if (isAgain) await this.#store(ready, false);
    }
  }

  /** Reports bad lines. @throws BadLines unless they are to be left out */
  #refuse(faults: readonly LineFault[]): void {
    if (faults.length === 0) return;
    for (const fault of faults.toSorted((a, b) => a.number - b.number)) this.#options.onBad(fault);
    this.#imported.bad += faults.length;
    if (!this.#options.skipBad) throw new BadLines(this.#imported);
  }

  /** Removes the lines that name missing users, and the audiences of missing records. */
  async #dangling({ checked, numbers }: Ready, lists: readonly (typeof ALL)[number][]): Promise<LineFault[]> {
    const lines = lists.flatMap((list): (ImportedRecord | LineOf<'audience'>)[] => checked[list]);
    if (lines.length === 0) return [];
    const faults: LineFault[] = [];
    const users = await findIds(this.#db, 'users', lines.flatMap(namedUsers));
    const records = await this.#recordsOf(checked);
    const faultOf = (line: ImportedRecord | LineOf<'audience'>): string | undefined => {
      if ('of' in line && !records.has(`${line.of} ${line.id}`) && !this.#wouldBeRecords.has(line.id)) {
        return `tells of the ${line.of} ${line.id}, which is not there`;
      }
      const stranger = namedUsers(line).find((id) => !users.has(id) && !this.#wouldBe.has(id));
      return stranger && `names the user ${stranger}, who is not there`;
    };
    const keep = <L extends ImportedRecord | LineOf<'audience'>>(some: L[]): L[] =>
      some.filter((line) => {
        const message = faultOf(line);
        if (message !== undefined) faults.push({ number: numbers.get(line) ?? 0, message });
        return message === undefined;
      });
    if (lists.includes('games')) checked.games = keep(checked.games);
    if (lists.includes('images')) checked.images = keep(checked.images);
    checked.audiences = keep(checked.audiences);
    return faults;
  }

  /** The records that a batch has audiences for and that are stored or in the batch: `game <id>`. */
  async #recordsOf({ games, images, audiences }: Checked): Promise<Set<string>> {
    const found = new Set([...games.map(({ id }) => `game ${id}`), ...images.map(({ id }) => `image ${id}`)]);
    for (const of of ['game', 'image'] as const) {
      const ids = audiences.filter((line) => line.of === of).map(({ id }) => id);
      if (ids.length > 0) for (const id of await findIds(this.#db, tableOf[of], ids)) found.add(`${of} ${id}`);
    }
    return found;
  }
}

const ALL = ['games', 'images', 'audiences'] as const;
const CHECKED_AT_ONCE = 100;
const immediate = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The lines after the first. @throws TransferError unless that says that an export follows */
async function* afterHeader(lines: AsyncIterable<Line[]>): AsyncGenerator<Line[]> {
  let isFirst = true;
  for await (const some of lines) {
    const [first] = some;
    if (isFirst && first) {
      checkHeader(first.text);
      isFirst = false;
      yield some.slice(1);
    } else yield some;
  }
  if (isFirst) throw new TransferError('The file is empty.');
}

const checkHeader = (text: string): void => {
  if (readHeader(text)) return;
  let header: { format?: unknown; version?: unknown } | null = {};
  try {
    header = JSON.parse(text) as typeof header;
  } catch {
    // The error is reported below.
  }
  if (header?.format === FORMAT && header.version !== VERSION) {
    throw new TransferError(
      `The file has version ${String(header.version)} of the format; this program reads ${VERSION}.`,
    );
  }
  throw new TransferError(`Line 1 must be the first line of an export: {"format":"${FORMAT}","version":${VERSION},…}`);
};
