import { keyConsumer, readConsumerUses } from '../../consumers/use/store.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { type Bytes, idFromBytes } from '../../db/values.ts';

const DAY_MS = 86_400_000;
const DATE_LENGTH = '2026-04-01'.length;
/** The number of days whose calls are counted, including today. */
export const COUNTED_DAYS = 7;
const SHOWN_KEYS = 20;

/** A key and the number of its calls in the last days. */
export interface BusyKey {
  id: string;
  name: string;
  nickname: string;
  calls: number;
  /** The clients that used the key. */
  clients: string[];
}

/** The keys with the most calls in the last days, summed by the engine, without calls of the last seconds. */
export const busyKeys = async (db: Pick<WorkloadPool, 'read' | 'manager'>, now: Date): Promise<BusyKey[]> => {
  const since = new Date(now.getTime() - COUNTED_DAYS * DAY_MS).toISOString().slice(0, DATE_LENGTH);
  const rows = await db.read<{ id: Bytes; name: string; nickname: string; calls: number | string }>(
    `SELECT k.id, k.name, u.nickname, c.calls FROM
      (SELECT key_id, SUM(n) AS calls FROM key_uses WHERE day > ? GROUP BY key_id ORDER BY calls DESC LIMIT ${SHOWN_KEYS}) c
    JOIN api_keys k ON k.id = c.key_id JOIN users u ON u.id = k.user_id ORDER BY c.calls DESC, k.id`,
    [since],
  );
  const consumers = rows.map(({ id }) => keyConsumer(idFromBytes(id)));
  const uses = await readConsumerUses(db, { now, days: COUNTED_DAYS, consumers });
  return rows.map(({ id: bytes, name, nickname, calls }) => {
    const id = idFromBytes(bytes);
    const { clients = [] } = uses.find(({ consumer }) => consumer === keyConsumer(id)) ?? {};
    return { id, name, nickname, calls: Number(calls), clients: clients.map((client) => client.name) };
  });
};
