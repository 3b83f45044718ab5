import { type Scope, scopes } from '../../../contract/index.ts';
import type { Operation } from './contract/operation.ts';
import { describeReply } from './findings/expect.ts';
import { failureMember } from './values.ts';
import type { Client } from './http/client.ts';
import type { Reply } from './exchange.ts';

/** The error for a run that is impossible as requested. The message says why. */
export class Unusable extends Error {}

/** The input that shows whether a key may call an operation: a faulty one, which changes nothing. */
const FAULTY = '{"json":{"unknownMember":1}}';

const ask = async (client: Client, key: string, { id, path }: Operation): Promise<Reply | undefined> => {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` };
  const reply = await client.send(id, path, { headers, body: FAULTY }).catch(() => undefined);
  const isRefused = reply?.status === 401 && failureMember(reply.json, 'reason') !== 'KEY_MISSING';
  if (isRefused) throw new Unusable(`The deployment refuses the key: ${describeReply(reply)}.`);
  return reply;
};

/**
 * The scopes of a key, by the answers of operations to a faulty input. An operation without an answer counts as
 * allowed, so that its checks report it. With `readOnly` it calls only operations that read.
 * @throws Unusable if the key is refused
 */
export const scopesOf = async (
  client: Client,
  key: string,
  operations: readonly Operation[],
  readOnly: boolean,
): Promise<Set<Scope>> => {
  const held = new Set<Scope>();
  const asked = operations.filter(({ effect }) => effect === 'read' || !readOnly);
  const open = asked.find(({ access }) => access === 'public');
  if (open) await ask(client, key, open);
  for (const scope of scopes) {
    const operation = asked.find(({ needs }) => needs.includes(scope));
    if (operation && (await ask(client, key, operation))?.status !== 403) held.add(scope);
  }
  return held;
};
