import type { IncomingMessage } from 'node:http';
import { holdsKey } from '../../../contract/index.ts';
import { randomUUID } from '../../base/runtime.ts';

const USABLE_ID = /^[\w.:-]{1,128}$/;

/** The id of a request: its `X-Request-Id` if that is usable, else a new one. */
export const requestIdOf = ({ headers: { 'x-request-id': given } }: IncomingMessage): string =>
  typeof given === 'string' && USABLE_ID.test(given) && !holdsKey(given) ? given : randomUUID();
