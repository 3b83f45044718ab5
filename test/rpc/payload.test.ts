/**
 * @engines none
 * @tier fast
 */
import { parse } from 'node:querystring';
import { describe, expect, test } from '@jest/globals';
import type { Request } from 'express';
import * as fc from 'fast-check';
import { type Procedure, procedures } from '../../contract/index.ts';
import { parseInput } from '../../src/rpc/procedures.ts';
import { textPayload, valuePayload } from '../../src/rpc/payload.ts';
import { AppError } from '../../src/base/errors.ts';
import { queryText } from '../../src/http/message/body.ts';
import { anyCharacter, assertProperty } from '../harness/documents/property.ts';

// What comes with a call, by POST, in a batch and by GET: whatever it is, it is read or refused as no JSON.

const DEPTH = 200_000;

/** Whether a function returns, or refuses what it reads. Anything else that it throws fails the test. */
const isReadOrRefused = (read: () => unknown): boolean => {
  try {
    read();
    return true;
  } catch (error) {
    return error instanceof AppError && error.reason === 'MALFORMED_JSON';
  }
};

/** A query as Express reads it. */
const ofQuery = (query: string): string => queryText({ query: parse(query) } as unknown as Request);

describe('a text', () => {
  test('of JSON is read as it is', () => {
    assertProperty(
      fc.property(fc.json(), (text) => {
        const { envelope, text: key } = textPayload(text);
        expect(JSON.stringify(envelope)).toBe(JSON.stringify(JSON.parse(text)));
        expect(key).toBe(text);
      }),
    );
  });

  test('of anything else is refused', () => {
    const cut = fc.tuple(fc.json(), fc.nat(20)).map(([text, length]) => text.slice(0, length));
    assertProperty(
      fc.property(fc.oneof(fc.string({ unit: anyCharacter }), cut), (text) => isReadOrRefused(() => textPayload(text))),
      500,
    );
  });
});

describe('a member of a batch', () => {
  test('has the same text as its equals, and no other', () => {
    assertProperty(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const [first, second] = [JSON.stringify(one), JSON.stringify(other)];
        expect(valuePayload(one).text === valuePayload(other).text).toBe(first === second);
        expect(valuePayload(one).text).toBe(valuePayload(JSON.parse(first)).text);
      }),
    );
  });

  test('may be as deep as a body is long', () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const body = `${open.repeat(DEPTH)}1${close.repeat(DEPTH)}`;
      const { text, envelope } = valuePayload(JSON.parse(body));
      expect(typeof envelope).toBe('object');
      // Node.js 26 writes what earlier versions find too deep.
      if (Number(process.versions.node.split('.', 1)[0]) >= 26) expect(text).toBe(body);
      else expect(text).not.toBe(valuePayload(JSON.parse(body)).text);
    }
  });
});

describe('a query', () => {
  test('carries any text', () => {
    assertProperty(
      fc.property(fc.string({ unit: 'grapheme' }), fc.dictionary(fc.string(), fc.string()), (text, others) => {
        const rest = new URLSearchParams(Object.entries(others).filter(([name]) => name !== 'input')).toString();
        expect(ofQuery(`${rest}&input=${encodeURIComponent(text)}`)).toBe(text);
      }),
    );
  });

  test('that is none is read or refused all the same', () => {
    const part = fc.constantFrom('input=', 'input', 'input[]=', '&', '=', '%', '%00', '%ff', '+', '__proto__=', '{}');
    const queries = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.array(part).map((parts) => parts.join('')),
    );
    assertProperty(
      fc.property(queries, (query) => isReadOrRefused(() => textPayload(ofQuery(query)))),
      1000,
    );
  });

  test('of a million signs is read at once', () => {
    const start = process.cpuUsage();
    for (const sign of ['&', '=', '%', 'input=', 'input=1&', '+']) {
      expect(isReadOrRefused(() => ofQuery(sign.repeat(1_000_000)))).toBe(true);
    }
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1e6).toBeLessThan(5);
  });
});

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
