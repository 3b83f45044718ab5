import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { counted } from '../../../../contract/text.ts';
import { currentTime } from '../../../base/runtime.ts';
import type { Imported } from '../../transfer/import.ts';
import { LEAN, capHeap } from '../../transfer/memory.ts';
import { argument, databaseCommand, flag } from '../shared/command.ts';
import { CommandError } from '../shared/common.ts';
import { note, print, printable } from '../shared/output.ts';
import { withProgress } from '../shared/progress.ts';

const MIB = 2 ** 20;

/** The size of a file in bytes; undefined for a file without a size, such as a pipe. */
const sizeOf = async (file: string): Promise<number | undefined> => {
  const handle = await open(file);
  try {
    const stat = await handle.stat();
    if (stat.isDirectory()) throw new CommandError(`${file} is a folder.`);
    return stat.isFile() ? stat.size : undefined;
  } finally {
    await handle.close();
  }
};

/** The chunks of a stream; reports the progress for each MiB of them. */
async function* metered(chunks: AsyncIterable<Buffer>, advance: (mib: number) => void): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    capHeap();
    yield chunk;
    const before = Math.ceil(bytes / MIB);
    bytes += chunk.length;
    if (Math.ceil(bytes / MIB) > before) advance(Math.ceil(bytes / MIB) - before);
  }
}

const tellOf = ({ users, games, images, existing, bad }: Imported, dryRun: boolean, seconds: number): string =>
  `${dryRun ? 'Would store' : 'Stored'} ${counted(users, 'user')}, ${counted(games, 'game')} and ` +
  `${counted(images, 'image post')} in ${seconds.toFixed(1)} s; ` +
  `${counted(existing, 'was', 'were')} there already; ${counted(bad, 'bad line')}.`;

export const importCommand = databaseCommand({
  summary: 'store what export wrote',
  description:
    'Stores the users, games and image posts of a file that export wrote, with their ids, times, tags, views, favorites ' +
    'and reactions; docs/transfer.md describes it. Records that are there already stay as they are. A batch of 500 ' +
    'lines is stored as a whole or not at all; it stops at the first one that has a bad line. Safe while the service ' +
    'runs. If it was interrupted, run it again: it goes on after the last batch that was stored.',
  input: {
    file: argument('<file>', 'the file; - for the standard input'),
    skipBad: flag('leave bad lines out, and tell of each on the standard error'),
    dryRun: flag('check every line and store nothing'),
    json: flag('print what was stored as JSON'),
  },
  examples: ['content.jsonl', 'content.jsonl --dry-run --skip-bad', '- --json'],
  database: LEAN,
  run: async (db, { file, skipBad, dryRun, json }) => {
    const { BadLines, importLines } = await import('../../transfer/import.ts');
    const size = file === '-' ? undefined : await sizeOf(file);
    const chunks: AsyncIterable<Buffer> = file === '-' ? process.stdin : createReadStream(file);
    const began = currentTime();
    const tell = (imported: Imported): void => {
      const seconds = (currentTime() - began) / 1000;
      if (json) print(JSON.stringify({ ...imported, dryRun, seconds }));
      else print(tellOf(imported, dryRun, seconds));
    };
    const work = (advance: (mib: number) => void): Promise<Imported> =>
      importLines(db, metered(chunks, advance), {
        skipBad,
        dryRun,
        onBad: ({ number, message }) => note(printable(`line ${number}: ${message}`)),
      });
    try {
      const imported = await (size === undefined
        ? work(() => undefined)
        : withProgress(Math.ceil(size / MIB), work, 'MiB'));
      tell(imported);
      if (imported.isComplete) return;
    } catch (error) {
      if (!(error instanceof BadLines)) throw error;
      tell(error.imported);
      throw new CommandError(
        `Nothing after line ${error.imported.lastLine} is stored. Mend the lines, or leave them out with --skip-bad, and run it again.`,
      );
    }
    throw new CommandError(
      'The last line of an export is missing: the file is incomplete. The records that it holds are stored.',
    );
  },
});
