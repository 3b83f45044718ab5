import { STREAM_TYPE } from '../../../../contract/index.ts';
import { type Check, checkOf } from '../check.ts';
import type { Operation } from '../contract/operation.ts';
import { demand, demandThat, describeReply, schemaFindings } from '../findings/expect.ts';
import { show } from '../findings/finding.ts';
import { parsed } from '../http/client.ts';
import type { VerifySession } from '../session.ts';

/** How long to read a stream, in seconds. */
const SHORTLY = 1;

/** The messages of a stream, each with its fields. */
const messagesOf = (text: string): ReadonlyMap<string, string>[] =>
  text
    .split('\n\n')
    .filter((block) => block !== '')
    .map(
      (block) => new Map(block.split('\n').map((line) => [line.split(':', 1)[0] ?? '', line.replace(/^\w*: ?/, '')])),
    );

/** The JSON values of a stream's messages; undefined for a message that is not JSON. */
export const valuesOf = (text: string): unknown[] =>
  messagesOf(text)
    .filter((message) => !message.has('event') && message.has('data'))
    .map((message) => parsed(message.get('data') ?? ''));

/** Checks of what an operation streams. */
export const streamChecks = (operation: Operation, session: VerifySession): Check[] => [
  checkOf(operation, 'output', `streams for ${SHORTLY} s, and ends`, async () => {
    const reply = await session.post(operation, { ...operation.example.input, maxDuration: SHORTLY });
    const type = reply.headers.get('content-type') ?? '';
    const isStream = reply.status === 200 && type.startsWith(STREAM_TYPE);
    demandThat(isStream, reply, { expected: `status 200, ${STREAM_TYPE}`, came: describeReply(reply) });
    const events = messagesOf(reply.text).map((message) => message.get('event'));
    const isWhole = events[0] === 'connected' && events.at(-1) === 'return';
    demandThat(isWhole, reply, { expected: 'a message `connected` at first, `return` at last', came: show(events) });
    for (const value of valuesOf(reply.text)) demand(reply, schemaFindings(operation.success, value));
  }),
];
