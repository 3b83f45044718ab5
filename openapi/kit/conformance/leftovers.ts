import { idempotencyKey, idempotencyReplayed } from '../../../contract/index.ts';
import { Unusable } from './caller.ts';
import type { Operation } from './contract/operation.ts';
import { Mismatch, Skip } from './findings/finding.ts';
import { valueAt } from './values.ts';
import type { ListedPage } from './records.ts';
import type { VerifySession } from './session.ts';

// The data that a run leaves behind: records, and answers to requests with an Idempotency-Key.

const OUTPUT = ['result', 'data', 'json'];

const idsOf = (output: unknown): string[] => {
  const records = valueAt(output, ['items']) ?? [output];
  return (records as unknown[]).map((record) => String(valueAt(record, ['id'])));
};

/** The number of records that a run made, by the replies that say so. */
export const recordsMade = ({ client, operations, lists }: VerifySession): number => {
  const routers = new Set(lists.map(({ router }) => router));
  const publishers = operations
    .filter(({ name, router }) => routers.has(router) && (name === 'create' || name === 'batchCreate'))
    .map(({ id }) => id);
  const made = client.replies.filter(({ subject, status }) => publishers.includes(subject) && status === 200);
  return new Set(made.flatMap(({ json }) => idsOf(valueAt(json, OUTPUT)))).size;
};

/** The number of existing records of a run; undefined if no list tells. */
export const recordsThere = async (session: VerifySession): Promise<number | undefined> => {
  const lists = session.lists;
  try {
    let n = 0;
    for (const list of lists) {
      n += (await session.prepare<ListedPage>(list, { limit: 1, ...session.records.query() })).total;
    }
    return n;
  } catch (error) {
    if (error instanceof Skip) return undefined;
    throw error;
  }
};

/** An operation that shows whether this run was made before: it writes data that already exists, or else a record. */
const firstWrite = (session: VerifySession): Operation | undefined =>
  session.operations
    .filter(({ effect, access, idMember }) => effect === 'write' && idMember === undefined && session.can(access))
    .toSorted((a, b) => Number(b.access === 'user:write') - Number(a.access === 'user:write'))[0];

/**
 * Checks whether a run with the seed was made here within a day: the deployment would then repeat its stored answers.
 * @throws Unusable if so
 */
export const demandUnusedSeed = async (session: VerifySession): Promise<void> => {
  const operation = firstWrite(session);
  if (!operation) return;
  const headers = { [idempotencyKey.name]: `verify ${session.random.run} begins` };
  try {
    const reply = await session.post(operation, await session.records.input(operation), { headers });
    if (reply.status !== 200 || !reply.headers.has(idempotencyReplayed.name)) return;
  } catch (error) {
    // The operation's own checks report its faults.
    if (error instanceof Mismatch || error instanceof Skip) return;
    throw error;
  }
  const { seed } = session.random;
  throw new Unusable(`A run with the seed ${seed} was made here within the last 24 hours: take another one.`);
};
