/**
 * @engines none
 * @tier fast
 */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import { QueryFailedError } from 'typeorm';
import { AppError } from '../../src/base/errors.ts';
import { createLog, describeError } from '../../src/app/log.ts';
import { PLANTED } from '../harness/documents/secrets.ts';

/** As mysql2 makes them. */
const serverError = (message: string, more: object = {}): Error =>
  Object.assign(new Error(message), {
    code: 'ER_DUP_ENTRY',
    errno: 1062,
    sqlState: '23000',
    sqlMessage: message,
    sql: `INSERT INTO users VALUES ('${PLANTED}')`,
    ...more,
  });

const duplicate = serverError(`Duplicate entry '${PLANTED}' for key 'users_bio'`);
const circle = new Error('one', { cause: new Error(`"${PLANTED}"`) });
(circle.cause as Error).cause = circle;

const errors: [string, unknown][] = [
  ['of the server', duplicate],
  ['of the server that is nothing but a value', serverError(PLANTED)],
  ['of SQLite', Object.assign(new Error(PLANTED), { code: 'ERR_SQLITE_ERROR', errcode: 1811, errstr: 'constraint' })],
  ['of TypeORM', new QueryFailedError(`SELECT '${PLANTED}'`, [PLANTED, Buffer.from(PLANTED)], duplicate)],
  ['of ours, by one of the server', new AppError('OVERLOADED', { hint: PLANTED, cause: duplicate })],
  ['that is caused by one that is caused by one', new Error('a', { cause: new Error('b', { cause: duplicate }) })],
  ['of many', new AggregateError([duplicate, new Error(`'${PLANTED}'`)], 'all of them')],
  ['of a parser', new SyntaxError(`Unexpected token 'h', "home 'of' ${PLANTED}"... is not valid JSON`)],
  ['of a parser, with quotes within', new Error(`can't parse 'it's "${PLANTED}" isn't`)],
  ['with lines that look like frames', serverError(`x\n    at ${PLANTED} (file.ts:1:1)`)],
  ['of our own with lines that look like frames', new Error(`"x\n    at ${PLANTED} (file.ts:1:1)"`)],
  ['in a circle', circle],
  ['that is none', { message: PLANTED }],
  ['that is a text', PLANTED],
];

/** What a log writes. */
const written = (write: (log: ReturnType<typeof createLog>) => void): string => {
  const lines: string[] = [];
  write(createLog('info', { write: (line: string) => void lines.push(line) }));
  return lines.join('');
};

describe('log', () => {
  test.each(errors)('an error %s is logged without the values it holds', (_, error) => {
    const text = written((log) => {
      log.error({ err: error });
      log.error({ err: error }, 'said');
      if (error instanceof Error) log.error(error);
      log.error({ err: error, requestId: 'r' });
    });
    expect(text).toContain('"msg":"said"');
    expect(text).not.toContain(PLANTED);
    expect(text).not.toContain(Buffer.from(PLANTED).join(','));
  });

  test('what remains says what it was, and where', () => {
    expect(describeError(new QueryFailedError('SELECT 1', [PLANTED], duplicate))).toEqual({
      type: 'QueryFailedError',
      code: 'ER_DUP_ENTRY',
      errno: 1062,
      sqlState: '23000',
      stack: expect.stringMatching(/^ {4}at .*log\.test\.ts:\d+/),
      cause: {
        type: 'Error',
        code: 'ER_DUP_ENTRY',
        errno: 1062,
        sqlState: '23000',
        stack: expect.stringMatching(/^ {4}at serverError /),
      },
    });
    const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED', port: 1 });
    expect(describeError(new AppError('DATABASE_UNAVAILABLE', { cause: refused }))).toMatchObject({
      type: 'AppError',
      message: 'DATABASE_UNAVAILABLE',
      reason: 'DATABASE_UNAVAILABLE',
      cause: { type: 'Error', message: 'connect ECONNREFUSED 127.0.0.1:1', code: 'ECONNREFUSED', port: 1 },
    });
    expect(describeError(new TypeError("Can't read 'a' of 'b' at all"))).toMatchObject({
      message: `Can't read "…" at all`,
    });
  });

  test('where it was thrown is whole, whatever it says', () => {
    for (const message of ['', 'a', 'at', 'log.test.ts', 'Error', 'x\n    at y (z.ts:1:1)']) {
      const { stack } = describeError(new Error(message)) as { stack: string };
      expect([message, stack.split('\n', 1)]).toEqual([
        message,
        [expect.stringMatching(/^ {4}at .*log\.test\.ts:\d+/)],
      ]);
      expect(stack.split('\n').length).toBeGreaterThan(5);
    }
    const renamed = new Error(PLANTED);
    renamed.message = 'another';
    expect(JSON.stringify(describeError(renamed))).not.toContain(PLANTED);
  });

  test('errors of Node.js itself are errors, too', async () => {
    const refused = await readFile('/no/such/file').catch((error: unknown) => error);
    expect(describeError(refused)).toMatchObject({ type: 'Error', code: 'ENOENT', syscall: 'open' });
  });

  test('other lines are as they are told', () => {
    const text = written((log) => {
      log.info({ requestId: 'r' }, 'request');
      log.warn('a warning');
    });
    expect(text).toMatch(/"requestId":"r","msg":"request"\}\n.*"msg":"a warning"\}\n$/);
  });
});
