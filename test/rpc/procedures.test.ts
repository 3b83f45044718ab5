/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { procedures } from '../../contract/index.ts';
import type { Procedure } from '../../src/rpc/procedures.ts';
import type { Call } from '../../src/auth/procedure.ts';
import { checkedCall } from '../../src/rpc/procedures.ts';

describe('a checked call', () => {
  test('a fault while an input is explained is one of that call, and does not end the process', async () => {
    const known = procedures.find(({ id }) => id === 'game.getById') as Procedure;
    const procedure = { ...known, handle: () => Promise.resolve({}) };
    Object.defineProperty(procedure, 'inputOptional', {
      get: () => {
        throw new Error('planted');
      },
    });
    await expect(checkedCall(procedure, {}, {} as Call)).rejects.toThrow('planted');
  });
});
