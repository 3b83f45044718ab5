/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { type Procedure, procedures } from '../../contract/index.ts';
import { parseInput } from '../../src/rpc/procedures.ts';

describe('an input', () => {
  test('that cannot even be explained is a fault of its call, and does not end the process', () => {
    const procedure = { ...(procedures.find(({ id }) => id === 'game.getById') as Procedure) };
    Object.defineProperty(procedure, 'inputOptional', {
      get: () => {
        throw new Error('planted');
      },
    });
    expect(() => parseInput(procedure, {})).toThrow('planted');
  });
});
