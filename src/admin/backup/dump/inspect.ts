import { createReadStream } from 'node:fs';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { BackupError } from '../errors.ts';

/** A place in the binary log of a server. */
export interface Position {
  file: string;
  position: number;
}

/** The contents of a dump. */
interface DumpContents {
  tables: string[];
  /** The position in the server's binary log at the moment of the dump; null if the dump has none. */
  position: Position | null;
}

const TABLE = /^CREATE TABLE `((?:[^`]|``)+)` \(/;
const POSITION =
  /^-- CHANGE (?:MASTER|REPLICATION SOURCE) TO (?:MASTER|SOURCE)_LOG_FILE='([^']+)', (?:MASTER|SOURCE)_LOG_POS=(\d+)/;
const END = /^-- Dump completed\b/;

/** Lines of rows take megabytes; the beginning of each line holds everything that is searched for. */
const LONGEST = 300;

/** Returns the beginnings of a text's lines. Dumps break no line within a value. */
async function* lineBeginnings(text: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let line = '';
  for await (const chunk of text) {
    const [first = '', ...others] = chunk.toString('latin1').split('\n');
    line = (line + first).slice(0, LONGEST);
    for (const next of others) {
      yield line;
      line = next.slice(0, LONGEST);
    }
  }
  yield line;
}

/** Reads a dump from the disk to its end. @throws BackupError when it is cut short, Error when it cannot be read */
export const inspectDump = async (path: string, { isGzip }: { isGzip: boolean }): Promise<DumpContents> => {
  const contents: DumpContents = { tables: [], position: null };
  let last = '';
  await pipeline(createReadStream(path), isGzip ? createGunzip() : new PassThrough(), async (text) => {
    for await (const line of lineBeginnings(text as AsyncIterable<Buffer>)) {
      if (line !== '') last = line;
      const [, table] = TABLE.exec(line) ?? [];
      if (table !== undefined) contents.tables.push(table.replaceAll('``', '`'));
      const [, logFile = '', position] = POSITION.exec(line) ?? [];
      if (position !== undefined) contents.position ??= { file: logFile, position: Number(position) };
    }
  });
  if (!END.test(last)) throw new BackupError('The dump is cut short: its last line does not say that it is complete.');
  return contents;
};
