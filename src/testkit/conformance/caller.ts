import { type Scope, scopes } from '../../../contract/index.ts';
import type { Operation } from './contract/operation.ts';
import { describeReply } from './findings/expect.ts';
import { valueAt } from './values.ts';
import type { Client } from './http/client.ts';
import type { Reply } from './exchange.ts';

/** A run that cannot be made as it was asked for. The message says why. */
export class Unusable extends Error {}

/** What is asked of every operation to see whether a key may call it: a fault, which changes nothing. */
const FAULTY = '{"json":{"unknownMember":1}}';

const ask = async (client: Client, key: string, { id, path }: Operation): Promise<Reply | undefined> => {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` };
  const reply = await client.send(id, path, { headers, body: FAULTY }).catch(() => undefined);
  const isRefused = reply?.status === 401 && valueAt(reply.json, ['error', 'json', 'data', 'reason']) !== 'KEY_MISSING';
  if (isRefused) throw new Unusable(`The deployment refuses the key: ${describeReply(reply)}.`);
  return reply;
};

/**
 * What a key allows, by what operations make of a faulty input. One that gives no answer counts as allowed, so that its
 * checks say so; with `readOnly` only operations that read are asked.
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
