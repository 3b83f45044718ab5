/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { checkReplyTo } from './socket/check.ts';
import { aConversation } from './socket/conversation.ts';
import { NoHttp, ReplyReader, type WireReply } from './socket/replies.ts';

// What finds fault with the service in test/fuzz must not let any pass.

/** The replies that a text holds, read byte by byte, and what is left. */
const read = (text: string, isHead = false): { replies: [number, string][]; rest: string } => {
  const reader = new ReplyReader();
  const replies: [number, string][] = [];
  for (const byte of Buffer.from(text)) {
    reader.add(Buffer.from([byte]));
    for (let reply = reader.next(isHead); reply; reply = reader.next(isHead)) {
      replies.push([reply.status, reply.body.toString()]);
    }
  }
  return { replies, rest: reader.rest.toString() };
};

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n';

describe('fuzzer', () => {
  describe('replies are read', () => {
    test.each<[what: string, text: string, replies: [number, string][], rest: string]>([
      [
        'one after the other',
        OK + CHUNKED + OK,
        [
          [200, 'ok'],
          [200, 'ok'],
          [200, 'ok'],
        ],
        '',
      ],
      ['but not those in between', `HTTP/1.1 100 Continue\r\n\r\n${OK}`, [[200, 'ok']], ''],
      [
        'without a body',
        `HTTP/1.1 304 Not Modified\r\n\r\n${OK}`,
        [
          [304, ''],
          [200, 'ok'],
        ],
        '',
      ],
      ['when they are whole', `${OK}${OK.slice(0, -1)}`, [[200, 'ok']], OK.slice(0, -1)],
    ])('%s', (_, text, replies, rest) => {
      expect(read(text)).toEqual({ replies, rest });
    });

    test('without the body that a HEAD has not', () => {
      expect(read('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n', true)).toEqual({ replies: [[200, '']], rest: '' });
    });

    test.each([
      ['no status', 'HTTP/1.1 OK\r\n\r\n'],
      ['words before it', `ok${OK}`],
      ['no length', 'HTTP/1.1 200 OK\r\n\r\n'],
      ['two lengths', OK.replace('\r\n\r\n', '\r\nContent-Length: 2\r\n\r\n')],
      ['two framings', CHUNKED.replace('\r\n\r\n', '\r\nContent-Length: 2\r\n\r\n')],
      ['a broken chunk', CHUNKED.replace('\r\no\r\n', '\r\nok\r\n')],
      ['a header with a line feed', OK.replace('\r\n\r\n', '\r\nX: a\nb\r\n\r\n')],
    ])('unless there is %s', (_, text) => {
      expect(() => read(text)).toThrow(NoHttp);
    });
  });

  describe('a reply', () => {
    const request = { method: 'POST', target: '/api/trpc/user.getProfile', headers: [], body: Buffer.alloc(0) };
    const data = {
      code: 'NOT_FOUND',
      httpStatus: 404,
      path: 'user.getProfile',
      reason: 'USER_NOT_FOUND',
      requestId: 'one',
      docs: '/errors#USER_NOT_FOUND',
    };
    const failure = { message: 'There is no user with this id.', code: -32004, data };
    const reply = (status: number, json: object, id = 'one'): WireReply => ({
      status,
      headers: { 'content-type': 'application/json; charset=utf-8', 'x-request-id': id },
      body: Buffer.from(JSON.stringify({ error: { json } })),
    });
    const check = (one: WireReply) => () => checkReplyTo(request, 'one', one, () => undefined);

    test('that is as documented passes', () => {
      expect(check(reply(404, failure))).not.toThrow();
    });

    test.each([
      ['passes where nothing is, if one asks for it', '/nothing', 'text/html', true],
      ['does not, if one asks for anything', '/nothing', '*/*', false],
      ['does not below the API', '/api/trpc/nothing', 'text/html', false],
    ])('that is a page %s', (_, target, accept, passes) => {
      const asked = { method: 'GET', target, headers: [['Accept', accept] as [string, string]], body: Buffer.alloc(0) };
      const page = {
        status: 404,
        headers: { 'content-type': 'text/html', 'x-request-id': 'one' },
        body: Buffer.from('x'),
      };
      const checked = expect(() => checkReplyTo(asked, 'one', page, () => undefined));
      if (passes) checked.not.toThrow();
      else checked.toThrow();
    });

    test.each<[what: string, reply: WireReply]>([
      ['to another request', reply(404, { ...failure, data: { ...data, requestId: 'two' } }, 'two')],
      ['of another status', reply(400, failure)],
      ['without a status', reply(404, { ...failure, data: { ...data, httpStatus: undefined } })],
      ['of no reason', reply(404, { ...failure, data: { ...data, reason: 'NO_REASON' } })],
      [
        'of a reason of other operations',
        reply(404, {
          ...failure,
          message: 'There is no game with this id.',
          data: { ...data, reason: 'GAME_NOT_FOUND' },
        }),
      ],
      ['in other words', reply(404, { ...failure, message: 'Error: ENOENT' })],
      [
        'that is a fault of ours',
        reply(500, {
          message: 'Something went wrong on our side.',
          code: -32603,
          data: { ...data, code: 'INTERNAL_SERVER_ERROR', httpStatus: 500, reason: 'INTERNAL' },
        }),
      ],
      ['in HTML', { ...reply(404, failure), headers: { 'content-type': 'text/html', 'x-request-id': 'one' } }],
      [
        'of which nothing is documented',
        { ...reply(200, failure), body: Buffer.from('{"result":{"data":{"json":{}}}}') },
      ],
    ])('%s does not', (_, one) => {
      expect(check(one)).toThrow();
    });
  });

  test('the same seed says the same, another one something else', () => {
    const bytes = (seed: string) => {
      const all = Array.from({ length: 20 }, (_, number) => aConversation(seed, number, 'WyJ4IiwxLCJ4Il0'));
      return Buffer.concat(
        all.flatMap(({ asked, wild }) => [...asked.map((one) => one.bytes), wild ?? Buffer.alloc(0)]),
      );
    };
    expect(bytes('1').equals(bytes('1'))).toBe(true);
    expect(bytes('1').equals(bytes('2'))).toBe(false);
  });
});
