/**
 * @engines none
 * @tier fast
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { WriteProbe } from '../../src/db/write-probe.ts';
import { AppError } from '../../src/base/errors.ts';
import { VirtualWorld } from '../harness/virtual-world.ts';

// By a clock of its own: what is believed for how long, and that trials do not pile up.

let world: VirtualWorld;
describe('write probe', () => {
  beforeEach(() => {
    world = new VirtualWorld();
    // Nothing is known at the time 0.
    world.leap(1000);
  });
  afterEach(() => {
    world.end();
  });

  /** Trials that end when they are told to, how many there were, and how many at once. */
  const aDatabase = () => {
    const ends: ((error?: Error) => void)[] = [];
    const writability = new WriteProbe(
      () => new Promise((resolve, reject) => ends.push((error) => (error ? reject(error) : resolve(undefined)))),
    );
    return { ends, writability };
  };

  /** Whether it is said to take writes, while a trial ends so. */
  const asked = async ({ ends, writability }: ReturnType<typeof aDatabase>, outcome?: Error): Promise<boolean> => {
    const answer = writability.assert().then(
      () => true,
      () => false,
    );
    ends.pop()?.(outcome);
    return answer;
  };

  test('one trial serves all who ask at once, and for a while', async () => {
    const database = aDatabase();
    const { ends, writability } = database;
    const answers = Promise.all(Array.from({ length: 50 }, () => writability.assert()));
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await answers;
    world.leap(2999);
    await writability.assert();
    expect(ends).toHaveLength(1);
    world.leap(2);
    void writability.assert();
    expect(ends).toHaveLength(2);
  });

  test('what failed is tried again after a second, and mended by what is stored', async () => {
    const database = aDatabase();
    expect(await asked(database, new Error('full'))).toBe(false);
    world.leap(999);
    expect(await asked(database)).toBe(false);
    world.leap(2);
    expect(await asked(database)).toBe(true);
  });

  test('an overloaded database does not change the result', async () => {
    const database = aDatabase();
    expect(await asked(database, new AppError('OVERLOADED'))).toBe(true);
    world.leap(3001);
    expect(await asked(database, new Error('full'))).toBe(false);
    world.leap(1001);
    expect(await asked(database, new AppError('OVERLOADED'))).toBe(false);
  });

  test('a trial that hangs is waited for by nobody, and is the only one', async () => {
    const { ends, writability } = aDatabase();
    await world.settled(Promise.all([writability.assert(), writability.assert()]));
    await world.settled(writability.assert());
    expect(ends).toHaveLength(1);
    ends[0]?.(new AppError('TIMEOUT'));
    await new Promise(setImmediate);
    await expect(writability.assert()).rejects.toMatchObject({
      reason: 'DATABASE_UNAVAILABLE',
      details: { hint: 'The database takes no writes.' },
    });
  });
});
