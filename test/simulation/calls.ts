import { sleep } from '../../src/base/runtime.ts';
import type { ProcedureId } from '../harness/app/app.ts';
import type { Client, Ending } from '../harness/app/client.ts';
import type { Json } from '../histories/session.ts';

const REST_MS = 100;

export type Answered = Ending & { kind: 'answered' };

export const outputIn = ({ text }: Answered): Json =>
  (JSON.parse(text) as { result: { data: { json: Json } } }).result.data.json;

/** Calls until it is answered, as the SDKs do. */
export const callUntilAnswered = async (
  client: Client,
  operation: ProcedureId,
  input: object,
  key?: string,
): Promise<Answered> => {
  for (;;) {
    const ending = await client.call(operation, input, key === undefined ? {} : { 'Idempotency-Key': key });
    if (ending.kind === 'answered' && (ending.status < 500 || ending.headers['x-should-retry'] === 'false'))
      return ending;
    await sleep(REST_MS);
  }
};
