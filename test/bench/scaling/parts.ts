import { readdirSync, readFileSync } from 'node:fs';
import { runCli } from '../../harness/app/program.ts';
import { aKey, withDatabase } from '../../harness/http/load.ts';
import { type Bytes, idFromBytes } from '../../../src/db/values.ts';

// The bench's own parts are plain JavaScript.
export interface Load {
  define(set: string, requests: readonly string[]): Promise<void>;
  run(run: { port: number; set: string; connections: number; milliseconds: number }): Promise<Result>;
  stop(): void;
}
export interface Result {
  requests: number;
  refused: number;
  whole: { answered: number };
  perSecond: number;
  p99: number;
}
export interface Server {
  port: number;
  pid: number;
  stop(): Promise<void>;
}
const part = (file: string): Promise<unknown> => import(file);
export const { startLoad, requestText } = (await part('../load/load.mjs')) as {
  startLoad(): Load;
  requestText(procedure: string, input: unknown, key?: string): string;
};
export const { startServer } = (await part('../machine/servers.mjs')) as {
  startServer(name: string, options: { url: string; root?: string; env?: Record<string, string> }): Promise<Server>;
};
export const { countCpu } = (await part('../machine/cpu.mjs')) as { countCpu(pid: number): () => number };
export const { median } = (await part('../measure.mjs')) as { median(numbers: number[]): number };
export const { refusalMark, share } = (await part('../report.mjs')) as {
  refusalMark(row: { refused: number }): string;
  share(part: number, whole: number): string;
};

/** Processes below this one, by their ids: which program each runs. */
export const processes = (): Map<number, string> => {
  const parents = new Map<number, number>();
  const names = new Map<number, string>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const [, program = '', rest = ''] = /^\d+ \((.*)\) (.*)$/s.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? [];
      parents.set(Number(name), Number(rest.split(' ')[1]));
      names.set(Number(name), program);
    } catch {
      // It ended meanwhile.
    }
  }
  const isOurs = (pid: number): boolean => {
    for (let at: number | undefined = pid; at; at = parents.get(at)) if (at === process.pid) return true;
    return false;
  };
  return new Map([...names].filter(([pid]) => pid !== process.pid && isOurs(pid)));
};

/** Fills a database. The ids are of games on all shards: they are read in order, which no shard has alone. */
export const fill = async (url: string, games = 2000): Promise<{ key: string; gameIds: string[] }> => {
  const key = await aKey(url);
  const env = { DATABASE_URL: url };
  const counts = ['--games', String(games), '--images', '10', '--users', '100', '--random-seed', '1'];
  const { code, stderr } = await runCli(['seed', ...counts], { env });
  if (code !== 0) throw new Error(stderr);
  const rows = await withDatabase(url, (db) => db.read<{ id: Bytes }>('SELECT id FROM games ORDER BY id LIMIT 1000'));
  return { key, gameIds: rows.map(({ id }) => idFromBytes(id)) };
};
