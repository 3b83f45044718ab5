/** A thread that reads an SQLite file, so that the main thread's event loop is not blocked. */
import { parentPort, workerData } from 'node:worker_threads';
import { performance } from '../../../base/runtime.ts';
import type { Parameter } from '../../connection.ts';
import { waitClock } from './clock.ts';
import { openReader, type SqliteConnection } from '../binding/binding.ts';
import { type Packed, pack } from '../binding/rows.ts';

/** A statement for a thread. */
export interface Question {
  sql: string;
  parameters: readonly Parameter[];
}

/** The answer of a thread: one for each question, in the same order. */
export type ThreadAnswer =
  { packed: Packed; columns: string[]; ms: number } | { error: { message: string; errcode?: number } };

const { file } = workerData as { file: string };
const waited = waitClock();
let connection: SqliteConnection | undefined;

const answer = ({ sql, parameters }: Question): ThreadAnswer => {
  try {
    connection ??= openReader(file);
    const began = performance.now() - waited();
    const { rows, columns } = connection.values(sql, parameters);
    return { packed: pack(rows), columns, ms: performance.now() - waited() - began };
  } catch (error) {
    const { message, errcode } = error as { message: string; errcode?: number };
    return { error: { message, ...(errcode !== undefined && { errcode }) } };
  }
};

parentPort?.on('message', (question: Question | undefined) => {
  if (question === undefined) process.exit();
  const given = answer(question);
  const bytes = 'packed' in given ? given.packed.bytes : undefined;
  parentPort?.postMessage(given, bytes ? [bytes.buffer] : []);
});
