import { currentTime, randomInt } from '../../base/runtime.ts';
import type { Transaction } from '../../db/connection.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { insertRows } from '../../db/sql/write-rows.ts';
import type { Document, SearchKind } from '../document.ts';
import { searchKindsIn, segmentsIn, segmentState, segmentTextsIn } from '../entity.ts';
import { CHUNK_KEYS, encodeTexts, keyAt } from '../segment.ts';

/** The largest random number that Node generates, and that engines and drivers accept, as an integer. */
const RANDOM_LIMIT = 2 ** 48 - 1;
/** How long the lease holder of a kind may be inactive. */
export const LEASE_MS = 30_000;
/** Blocks per transaction: on SQLite, other writers wait for it. */
const BLOCKS_AT_ONCE = 512;
const LONG_BLOCK_BYTES = 8192;

/** Another process did the work or may do it. Nothing is lost: the current transaction stores nothing. */
export class Superseded extends Error {}

export const randomId = (): number => randomInt(1, RANDOM_LIMIT);

export interface NewBlock {
  gram: string;
  data: Buffer;
}

const isLong = ({ data }: { data: Buffer }): boolean => data.length > LONG_BLOCK_BYTES;

/** Stores a segment without its documents' contents; `keys` are sorted and concatenated. Returns its id. */
export const insertSegment = async (
  tx: Transaction,
  kind: SearchKind,
  segment: { level: number; state: number; builder: number; keys: Uint8Array },
): Promise<number> => {
  const { level, state, builder, keys } = segment;
  const id = randomId();
  const size = keys.length / keyAt(keys, 0).length;
  await segmentsIn(tx).insert({
    id,
    kind: kind.code,
    level,
    state,
    size,
    removals: 0,
    firstKey: Buffer.from(keyAt(keys, 0)),
    lastKey: Buffer.from(keyAt(keys, size - 1)),
    builder,
    touched: currentTime(),
  });
  const chunks: object[] = [];
  const bytes = CHUNK_KEYS * keyAt(keys, 0).length;
  for (let start = 0; start < keys.length; start += bytes) {
    chunks.push({ segment: id, chunk: chunks.length, data: Buffer.from(keys.subarray(start, start + bytes)) });
  }
  await insertRows(tx, 'SearchKeys', chunks);
  return id;
};

/** Stores an active segment of level 0: new documents, sorted by their keys. */
export const insertTexts = async (tx: Transaction, kind: SearchKind, documents: readonly Document[]): Promise<void> => {
  const keys = Buffer.concat(documents.map(({ key }) => key));
  const segment = await insertSegment(tx, kind, { level: 0, state: segmentState.live, builder: 0, keys });
  await segmentTextsIn(tx).insert({ segment, data: encodeTexts(documents) });
};

/** Stores segments in small transactions beside other work; searches use them once `publish` activates them. */
export class SegmentWriter {
  readonly #db: WorkloadPool;
  readonly #kind: SearchKind;
  readonly #holder: number;
  /** Marks its unfinished segments. */
  readonly #builder = randomId();
  /** Called between two transactions. */
  readonly #between: () => Promise<void>;

  /** `holder` holds the lease of the kind. */
  constructor(db: WorkloadPool, kind: SearchKind, holder: number, between: () => Promise<void>) {
    this.#db = db;
    this.#kind = kind;
    this.#holder = holder;
    this.#between = between;
  }

  /** @throws Superseded */
  begin(level: number, keys: Uint8Array): Promise<number> {
    return this.#step((tx) =>
      insertSegment(tx, this.#kind, { level, state: segmentState.building, builder: this.#builder, keys }),
    );
  }

  /** Adds blocks to a segment, sorted by their grams. @throws Superseded */
  async addBlocks(segment: number, blocks: AsyncIterable<NewBlock> | Iterable<NewBlock>): Promise<void> {
    let batch: NewBlock[] = [];
    const flush = (): Promise<void> => {
      const rows = batch.map(({ gram, data }) => ({ segment, gram: Buffer.from(gram), data }));
      batch = [];
      return this.#step(async (tx) => {
        // A segment with an abandoned builder must not grow again.
        await this.#assertBuilding(tx);
        await insertRows(
          tx,
          'SearchBlock',
          rows.filter((row) => !isLong(row)),
        );
        for (const row of rows.filter(isLong)) await insertRows(tx, 'SearchBlock', [row]);
      });
    };
    for await (const block of blocks) {
      batch.push(block);
      if (batch.length === BLOCKS_AT_ONCE) await flush();
    }
    if (batch.length > 0) await flush();
  }

  /** Runs `write` in one transaction, which stores what was built. */
  async publish(write: (tx: Transaction) => Promise<void>): Promise<void> {
    await this.#step(write);
  }

  async #step<T>(write: (tx: Transaction) => Promise<T>): Promise<T> {
    const written = await this.#db.transaction(async (tx) => {
      const { affected } = await searchKindsIn(tx).update(
        { kind: this.#kind.code, holder: this.#holder },
        { heldUntil: currentTime() + LEASE_MS },
      );
      if (affected === 0) throw new Superseded();
      return write(tx);
    });
    await this.#between();
    return written;
  }

  async #assertBuilding(tx: Transaction): Promise<void> {
    const { affected } = await segmentsIn(tx).update(
      { builder: this.#builder, state: segmentState.building },
      { touched: currentTime() },
    );
    if (affected === 0) throw new Superseded();
  }
}
