/**
 * @engines none
 * @tier fast
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Deadline } from '../../../src/base/deadline.ts';
import { AppError } from '../../../src/base/errors.ts';
import { BATCH_KEYS, FULL_KEYS, MAX_KEYS, WriteBuffer } from '../../../src/db/batching/write-buffer.ts';
import { VirtualWorld } from '../../harness/virtual-world.ts';

const DELAY_MS = 1000;

describe('write buffer', () => {
  let world: VirtualWorld;
  beforeEach(() => {
    world = new VirtualWorld();
  });
  afterEach(() => world.end());

  type Changes = Record<string, string>;

  /** Buffers texts, which merge to `earlier+later`. `store` gets what is written, and may fail. */
  const collect = (
    store: (changes: Changes) => Promise<void> | void,
    log = pino({ level: 'silent' }),
    batchKey?: (key: string) => string,
  ) =>
    new WriteBuffer<string>({
      delayMs: DELAY_MS,
      merge: (earlier, later) => `${earlier}+${later}`,
      write: async (changes) => store(Object.fromEntries(changes)),
      log,
      ...(batchKey && { batchKey }),
    });

  /** A store that fails a number of times, and what reached it. */
  const failing = (failures: number) => {
    const attempts: Changes[] = [];
    const store = (changes: Changes) => {
      attempts.push(changes);
      if (attempts.length <= failures) throw new Error('the database is away');
    };
    return { attempts, store };
  };

  test('changes to the same key are stored as one, others beside them', async () => {
    const { attempts, store } = failing(0);
    const buffer = collect(store);
    buffer.add('a', '1');
    buffer.add('b', '2');
    buffer.add('a', '3');
    await buffer.flush();
    expect(attempts).toEqual([{ a: '1+3', b: '2' }]);
  });

  test('changes are stored by themselves after the delay, counted from the first', async () => {
    const { attempts, store } = failing(0);
    const buffer = collect(store);
    buffer.add('a', '1');
    await world.pass(DELAY_MS - 1);
    buffer.add('a', '2');
    expect(attempts).toEqual([]);
    await world.pass(1);
    expect(attempts).toEqual([{ a: '1+2' }]);
  });

  test('without a change nothing is stored', async () => {
    const { attempts, store } = failing(0);
    const buffer = collect(store);
    await buffer.flush();
    buffer.add('a', '1');
    await buffer.flush();
    await buffer.flush();
    expect(attempts).toEqual([{ a: '1' }]);
  });

  test('a flush waits for what is being stored, and stores what came meanwhile', async () => {
    const { promise: gate, resolve: open } = withResolver();
    const stored: Changes[] = [];
    let writes = 0;
    const buffer = collect(async (changes) => {
      writes += 1;
      if (writes === 1) await gate;
      stored.push(changes);
    });
    buffer.add('a', '1');
    const first = buffer.flush();
    // The first write is under way: this change belongs to the next one.
    await sleep(0);
    buffer.add('a', '2');
    const second = buffer.flush();
    let isDone = false;
    void second.then(() => (isDone = true));
    await sleep(20);
    expect(isDone).toBe(false);
    open();
    await Promise.all([first, second]);
    expect(stored).toEqual([{ a: '1' }, { a: '2' }]);
  });

  test('what could not be stored is tried again after the delay', async () => {
    const { attempts, store } = failing(2);
    const buffer = collect(store);
    buffer.add('a', '1');
    await buffer.flush();
    expect(attempts).toHaveLength(1);
    await world.pass(2 * DELAY_MS);
    expect(attempts).toEqual([{ a: '1' }, { a: '1' }, { a: '1' }]);
  });

  test('what could not be stored stays before what came later', async () => {
    const { attempts, store } = failing(1);
    const buffer = collect(async (changes) => {
      await sleep(0);
      store(changes);
    });
    buffer.add('a', '1');
    const failed = buffer.flush();
    await Promise.resolve();
    buffer.add('a', '2');
    buffer.add('b', '3');
    await failed;
    await buffer.flush();
    expect(attempts).toEqual([{ a: '1' }, { a: '1+2', b: '3' }]);
  });

  const addMany = (buffer: WriteBuffer<string>, from: number, to: number): void => {
    for (let n = from; n < to; n += 1) buffer.add(`k${n}`, '1');
  };
  const keysOf = (attempts: readonly Changes[]): string[] => attempts.flatMap((changes) => Object.keys(changes));
  const upTo = (n: number): string[] => Array.from({ length: n }, (_, index) => `k${index}`);

  test('many changes are stored in batches, the oldest first', async () => {
    const { attempts, store } = failing(0);
    const buffer = collect(store);
    addMany(buffer, 0, 2 * BATCH_KEYS + 1);
    await buffer.flush();
    expect(attempts.map((changes) => Object.keys(changes).length)).toEqual([BATCH_KEYS, BATCH_KEYS, 1]);
    expect(keysOf(attempts)).toEqual(upTo(2 * BATCH_KEYS + 1));
  });

  test('changes whose batch keys differ are stored apart', async () => {
    const { attempts, store } = failing(0);
    const buffer = collect(store, undefined, ([first = '']) => first);
    for (const key of ['a1', 'a2', 'b1', 'c1', 'c2']) buffer.add(key, '1');
    await buffer.flush();
    expect(attempts).toEqual([{ a1: '1', a2: '1' }, { b1: '1' }, { c1: '1', c2: '1' }]);
  });

  test('when a batch fails, those before it are not stored again, and those after it wait', async () => {
    const attempts: string[][] = [];
    const buffer = collect((changes) => {
      attempts.push(Object.keys(changes));
      if (attempts.length === 2) throw new Error('the database is away');
    });
    addMany(buffer, 0, 3 * BATCH_KEYS);
    await buffer.flush();
    expect(attempts).toHaveLength(2);
    await buffer.flush();
    expect(attempts).toHaveLength(4);
    expect(attempts[2]).toEqual(attempts[1]);
    expect(attempts.toSpliced(1, 1).flat()).toEqual(upTo(3 * BATCH_KEYS));
  });

  test('a full buffer is stored before its time', async () => {
    const { attempts, store } = failing(0);
    const buffer = collect(store);
    addMany(buffer, 0, FULL_KEYS - 1);
    await world.pass(0);
    expect(attempts).toEqual([]);
    buffer.add('last', '1');
    await world.pass(0);
    expect(keysOf(attempts)).toEqual([...upTo(FULL_KEYS - 1), 'last']);
  });

  test('while nothing can be stored the oldest changes go, and the log says how many', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
    const { attempts, store } = failing(2);
    const buffer = collect(store, log);
    buffer.add('k0', '1');
    await buffer.flush();
    addMany(buffer, 1, MAX_KEYS + 10);
    await buffer.flush();
    await buffer.flush();
    expect(lines.map((line) => (JSON.parse(line) as { dropped?: number }).dropped)).toEqual([undefined, 10]);
    const stored = keysOf(attempts.slice(2));
    expect([stored[0], stored.length]).toEqual(['k10', MAX_KEYS]);
  });

  describe('closing', () => {
    test('stores what is left', async () => {
      const { attempts, store } = failing(0);
      const buffer = collect(store);
      buffer.add('a', '1');
      await buffer.close(new Deadline(1000));
      expect(attempts).toEqual([{ a: '1' }]);
    });

    test('ends what is being stored with its time, and says how much is lost', async () => {
      const lines: { changes?: number; msg: string }[] = [];
      const log = pino({ level: 'error' }, { write: (line) => lines.push(JSON.parse(line) as (typeof lines)[number]) });
      const buffer = new WriteBuffer<string>({
        delayMs: DELAY_MS,
        merge: (_, later) => later,
        // A database that does not answer.
        write: (_, deadline) => deadline.race(new Promise(() => undefined)),
        log,
      });
      for (const key of ['a', 'b', 'c']) buffer.add(key, '1');
      void buffer.flush();
      await sleep(0);
      buffer.add('d', '1');
      const deadline = new Deadline();
      const closed = buffer.close(deadline);
      deadline.end();
      await closed;
      expect(lines).toEqual([
        expect.objectContaining({ changes: 4, msg: 'buffered changes could not be stored, and are lost' }),
      ]);
    });
  });

  test('what may have been stored is not stored again', async () => {
    const attempts: Changes[] = [];
    const buffer = collect((changes) => {
      attempts.push(changes);
      if (attempts.length === 1) throw new AppError('OUTCOME_UNKNOWN');
    });
    buffer.add('a', '1');
    await buffer.flush();
    buffer.add('b', '1');
    await buffer.flush();
    expect(attempts).toEqual([{ a: '1' }, { b: '1' }]);
  });

  const withResolver = () => {
    let resolve = (): void => undefined;
    const promise = new Promise<void>((done) => (resolve = done));
    return { promise, resolve };
  };
});
