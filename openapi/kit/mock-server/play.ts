import type { Socket } from 'node:net';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ScriptedReply } from './vector.ts';

const MS = 1000;

/** `{date+30}` and `{origin}` in a header. */
const filledIn = (text: string, otherOrigin: string): string =>
  text
    .replaceAll(/\{date([+-]\d+)\}/g, (_, seconds) => new Date(Date.now() + Number(seconds) * MS).toUTCString())
    .replaceAll('{origin}', otherOrigin);

/** Resolves when the kernel has the data, or the connection is closed. */
const written = (response: ServerResponse, bytes: Buffer): Promise<void> =>
  new Promise((resolve) => {
    response.write(bytes, () => resolve());
    response.once('close', resolve);
  });

const endConnection = (socket: Socket | null, end: NonNullable<ScriptedReply['end']>): void => {
  if (end.startsWith('reset')) socket?.resetAndDestroy();
  else socket?.end();
};

/** Answers a request as a reply of a vector says, byte for byte and at its pace. */
export const play = async (
  response: ServerResponse,
  reply: ScriptedReply,
  body: string,
  more: { requestId: string; otherOrigin: string },
): Promise<void> => {
  const { status, headers, contentType, dated, delayMs, pauseMs, end, stream } = reply;
  const { socket } = response;
  await sleep(delayMs);
  if (end === 'reset') {
    endConnection(socket, end);
    return;
  }
  const bytes = Buffer.from(body);
  response.sendDate = dated;
  response.writeHead(status, {
    'X-Request-Id': more.requestId,
    ...(contentType !== null && { 'Content-Type': stream ? 'text/event-stream' : contentType }),
    // A body without a length is sent in chunks.
    ...(end !== 'cut' && !stream && bytes.length > 0 && { 'Content-Length': bytes.length }),
    ...Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, filledIn(text, more.otherOrigin)])),
  });
  if (end === undefined && pauseMs === 0 && !stream) {
    response.end(bytes);
    return;
  }
  if (stream) {
    await written(response, bytes);
    await sleep(pauseMs);
    if (end === 'close') response.end();
    else if (end !== undefined) endConnection(socket, end);
    return;
  }
  const half = Math.floor(bytes.length / 2);
  await written(response, bytes.subarray(0, half));
  await sleep(pauseMs);
  if (end === undefined) response.end(bytes.subarray(half));
  else endConnection(socket, end);
};
