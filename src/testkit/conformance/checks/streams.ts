import { type Reason, type Stream, STREAM_TYPE, streams } from '../../../../contract/index.ts';
import type { Check } from '../check.ts';
import { demand, demandThat, describeReply, expectFailure, schemaFindings } from '../findings/expect.ts';
import { show } from '../findings/finding.ts';
import { parsed } from '../http/client.ts';
import type { VerifySession } from '../session.ts';

/** How long a stream is read, in seconds. */
const SHORTLY = 1;

/** The messages of a stream, each with its fields. */
const messagesOf = (text: string): ReadonlyMap<string, string>[] =>
  text
    .split('\n\n')
    .filter((block) => block !== '')
    .map(
      (block) => new Map(block.split('\n').map((line) => [line.split(':', 1)[0] ?? '', line.replace(/^\w*: ?/, '')])),
    );

/** The JSON values of a stream's messages; undefined for one that is no JSON. */
export const valuesOf = (text: string): unknown[] =>
  messagesOf(text)
    .filter((message) => !message.has('event') && message.has('data'))
    .map((message) => parsed(message.get('data') ?? ''));

const checksOf = (stream: Stream, session: VerifySession): Check[] => {
  const { id, route, example } = stream;
  const operation = { ...stream, path: route.path };
  const send = (json: object, headers: Record<string, string> = {}) =>
    session.post(operation, { ...(example.input as object), ...json }, { headers });
  const check = (proves: Check['proves'], name: string, run: Check['run']): Check => ({
    subject: id,
    name,
    proves,
    needs: [],
    run,
  });
  const refused = (proves: Reason, name: string, json: object, headers?: Record<string, string>): Check =>
    check(proves, name, async () => {
      expectFailure(await send(json, headers), proves, id);
    });
  return [
    check('output', `streams for ${SHORTLY} s, and ends`, async () => {
      const reply = await send({ maxDuration: SHORTLY });
      const type = reply.headers.get('content-type') ?? '';
      const isStream = reply.status === 200 && type.startsWith(STREAM_TYPE);
      demandThat(isStream, reply, { expected: `status 200, ${STREAM_TYPE}`, came: describeReply(reply) });
      const messages = messagesOf(reply.text);
      const events = messages.map((message) => message.get('event'));
      const isWhole = events[0] === 'connected' && events.at(-1) === 'return';
      demandThat(isWhole, reply, { expected: 'a message `connected` at first, `return` at last', came: show(events) });
      for (const value of valuesOf(reply.text)) demand(reply, schemaFindings(stream.message, value));
    }),
    refused('VALIDATION_FAILED', 'refuses a member that it does not know', { unknownMember: null }),
    refused('VALIDATION_FAILED', 'refuses /maxDuration: 0', { maxDuration: 0 }),
    refused('CURSOR_INVALID', 'refuses a cursor that was made up', { after: 'made up' }),
    refused(
      'KEY_UNKNOWN',
      'refuses a key that was not issued',
      {},
      { Authorization: `Bearer ${session.caller.unknownKey}` },
    ),
  ];
};

/** Checks of the operations that answer with a stream. */
export const streamChecks = (session: VerifySession): Check[] => streams.flatMap((stream) => checksOf(stream, session));
