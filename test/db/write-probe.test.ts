/**
 * @engines none
 * @tier fast
 */
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { WriteProbe } from '../../src/db/write-probe.ts';
import { AppError } from '../../src/base/errors.ts';

// By a clock of its own: what is believed for how long, and that trials do not pile up.

let now = 0;
describe('write probe', () => {
  beforeEach(() => {
    now = 1000;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => {
    jest.restoreAllMocks();
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
    now += 2999;
    await writability.assert();
    expect(ends).toHaveLength(1);
    now += 2;
    void writability.assert();
    expect(ends).toHaveLength(2);
  });

  test('what failed is tried again after a second, and mended by what is stored', async () => {
    const database = aDatabase();
    expect(await asked(database, new Error('full'))).toBe(false);
    now += 999;
    expect(await asked(database)).toBe(false);
    now += 2;
    expect(await asked(database)).toBe(true);
  });

  test('an overloaded database does not change the result', async () => {
    const database = aDatabase();
    expect(await asked(database, new AppError('OVERLOADED'))).toBe(true);
    now += 3001;
    expect(await asked(database, new Error('full'))).toBe(false);
    now += 1001;
    expect(await asked(database, new AppError('OVERLOADED'))).toBe(false);
  });

  test('a trial that hangs is waited for by nobody, and is the only one', async () => {
    const { ends, writability } = aDatabase();
    await Promise.all([writability.assert(), writability.assert()]);
    await writability.assert();
    expect(ends).toHaveLength(1);
    ends[0]?.(new AppError('TIMEOUT'));
    await new Promise(setImmediate);
    await expect(writability.assert()).rejects.toMatchObject({
      reason: 'DATABASE_UNAVAILABLE',
      details: { hint: 'The database takes no writes.' },
    });
  });
});
