/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { exampleGame } from '../../contract/examples.ts';
import { faultText, parseFaults, places } from '../../src/sandbox/fault-injection.ts';
import { Random } from '../../src/sandbox/seed/random.ts';
import { SeededFaults } from '../../src/sandbox/seeded-faults.ts';

const SPACE = 'job-17';

/**
 * Has a client make games, read, favorite, change and delete each, in the order of `random`. Returns the faults, as they
 * are listed and by game.
 */
const facedBy = (faults: SeededFaults, random = new Random('order'), games = 40) => {
  let turns = Array.from({ length: games }, (_, index) => {
    const create = { operation: 'game.create', input: `{"json":{"title":"Game ${index}"}}` };
    const id = randomUUID();
    const passing = `"at":"${new Date(1e12 * Math.random()).toISOString()}","cursor":"${Math.random()}"`;
    const later = ['game.getById', 'game.toggleFavorite', 'game.update', 'game.delete'].map((operation) => ({
      operation,
      input: `{"json":{"id":"${id}",${passing}}}`,
    }));
    return { index, id, left: [create, ...later] };
  });
  const met: string[] = [];
  while (turns.length > 0) {
    const { index, id, left } = random.pick(turns);
    const call = left.shift()!;
    const { fault, onReply } = faults.meet(call);
    if (fault) met.push(`${index} ${call.operation} ${faultText(fault)}`);
    onReply?.(`{"result":{"data":{"json":{"id":"${id}","author":"${exampleGame.id}"}}}}`);
    turns = turns.filter((turn) => turn.left.length > 0);
  }
  return { listed: faults.list(), met: met.toSorted() };
};

describe('faults from a seed', () => {
  test('are the same for the same seed and space, in whatever order the calls come, and others for another', () => {
    const faults = facedBy(new SeededFaults(7, SPACE));
    expect(faults.met.length).toBeGreaterThan(15);
    for (const order of ['another', 'a third']) {
      expect(facedBy(new SeededFaults(7, SPACE), new Random(order))).toEqual(faults);
    }
    expect(facedBy(new SeededFaults(8, SPACE))).not.toEqual(faults);
    expect(facedBy(new SeededFaults(7, 'job-18'))).not.toEqual(faults);
  });

  test('are of every kind within some hundred calls, in the form of the header', () => {
    const seen = facedBy(new SeededFaults(1, SPACE), undefined, 200).listed.flatMap(({ fault }) => parseFaults(fault));
    const kinds = new Set(seen.map(({ place, kind }) => `${place}=${kind}`));
    const all = Object.entries(places).flatMap(([place, found]) => found.map((kind) => `${place}=${kind}`));
    expect([...kinds, 'body=truncate'].toSorted()).toEqual(all.toSorted());
    for (const { kind, ms = 0, 'retry-after': patience } of seen) {
      expect(ms).toBeLessThanOrEqual(200);
      if (kind === '503' || kind === '429') expect([0, 1]).toContain(patience);
      else expect(patience).toBeUndefined();
    }
  });

  test('befall at most the first two of ten equal calls', () => {
    const numbers = new Set<number>();
    for (let seed = 0; seed < 40; seed += 1) {
      const faults = new SeededFaults(seed, '');
      for (let attempt = 1; attempt <= 30; attempt += 1) {
        if (faults.meet({ operation: 'game.list', input: '{}' }).fault) numbers.add(attempt);
      }
    }
    expect([...numbers].toSorted((a, b) => a - b)).toEqual([1, 2, 11, 12, 21, 22]);
  });

  test('are listed by digests of inputs, which only their sender sees', () => {
    const faults = new SeededFaults(7, SPACE);
    const inputs = Array.from({ length: 40 }, (_, n) => `{"json":{"password":"hunter${n}"}}`);
    for (const input of [...inputs, ...inputs]) faults.meet({ operation: 'game.create', input });
    const listed = faults.list();
    expect(JSON.stringify(listed)).not.toMatch(/json|password|hunter/);
    expect(listed).toContainEqual({
      operation: 'game.create',
      digest: expect.stringMatching(/^[\w-]{8}$/),
      attempt: 1,
      fault: expect.any(String),
    });
    const first = listed.filter(({ attempt }) => attempt === 1).map(({ digest }) => digest);
    expect(new Set(first).size).toBe(first.length);
    for (const { digest } of listed.filter(({ attempt }) => attempt === 2)) expect(first).toContain(digest);
  });

  test('count the records of the sandbox apart', () => {
    const counts = new Set<number>();
    for (let seed = 0; seed < 40; seed += 1) {
      const faults = new SeededFaults(seed, '');
      for (const id of [exampleGame.id, '019a3c5e-c260-7f96-8063-ae50df72b306']) {
        faults.meet({ operation: 'game.getById', input: `{"json":{"id":"${id}"}}` });
      }
      for (const { attempt } of faults.list()) counts.add(attempt);
    }
    expect([...counts]).toEqual([1]);
  });
});
