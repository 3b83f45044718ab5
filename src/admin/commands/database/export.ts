import { counted } from '../../../../contract/text.ts';
import { currentTime } from '../../../base/runtime.ts';
import type { Database } from '../../../db/database.ts';
import type { ExportOptions } from '../../transfer/export.ts';
import { parts } from '../../transfer/format.ts';
import { LEAN } from '../../transfer/memory.ts';
import { listOf, parseInstant } from '../shared/arguments.ts';
import { command, defaulted, flag, option } from '../shared/command.ts';
import { CommandError, readSettings, USAGE, withDatabase } from '../shared/common.ts';
import { note, print } from '../shared/output.ts';
import { StandardOutput } from '../shared/standard-output.ts';
import { withProgress } from '../shared/progress.ts';

interface ExportSummary {
  records: number;
  bytes: number;
  seconds: number;
}

const toStandardOutput = async (db: Database, options: ExportOptions): Promise<ExportSummary> => {
  const { countExported, exportLines, headerOf, lineOf } = await import('../../transfer/export.ts');
  const header = await headerOf(db, options);
  const began = currentTime();
  return withProgress(await countExported(db, header), async (advance) => {
    const first = lineOf(header);
    const output = new StandardOutput();
    await output.write(first);
    const written = { records: 0, bytes: Buffer.byteLength(first) };
    for await (const { text, records } of exportLines(db, header)) {
      await output.write(text);
      if (output.isGone) break;
      written.records += records;
      written.bytes += Buffer.byteLength(text);
      advance(records);
    }
    return { ...written, seconds: (currentTime() - began) / 1000 };
  });
};

const toFile = async (db: Database, path: string, options: ExportOptions): Promise<ExportSummary> => {
  const [{ countExported, exportLines, headerOf }, { ExportFile }] = await Promise.all([
    import('../../transfer/export.ts'),
    import('../../transfer/output.ts'),
  ]);
  const file = await ExportFile.open(path, options, () => headerOf(db, options));
  try {
    const { header, place } = file;
    if (place) note(`${path} holds the beginning of this export: going on from ${place.part} ${place.id}.`);
    const began = currentTime();
    let records = 0;
    await withProgress(await countExported(db, header, place), async (advance) => {
      for await (const lines of exportLines(db, header, place)) {
        await file.write(lines.text);
        records += lines.records;
        advance(lines.records);
      }
    });
    await file.finish();
    return { records, bytes: file.length, seconds: (currentTime() - began) / 1000 };
  } finally {
    await file.close();
  }
};

export const exportCommand = command({
  summary: 'write users, games and image posts to a file',
  description:
    'Writes users, games and image posts, with their tags, views, favorites and reactions, as JSON lines that import ' +
    'reads; docs/transfer.md describes them. API keys are not among them. Safe while the service runs. With --out, ' +
    'run it again if it was interrupted: it goes on where the file ends.',
  input: {
    only: defaulted('<list>', `comma-separated: ${parts.join(', ')}`, [...parts], {
      parse: listOf(parts),
      shown: 'all',
    }),
    since: option(
      '<time>',
      'only what was published or changed by its author since then: a date or a time (default: ever)',
      parseInstant,
    ),
    out: option('<file>', 'the file to write, which must not be there yet (default: the standard output)'),
    json: flag('print what was written as JSON; needs --out'),
  },
  examples: ['--out content.jsonl', '--only users,games --since 2026-04-01 --out april.jsonl'],
  run: ({ only, since, out, json }) => {
    if (json && out === undefined)
      throw new CommandError('--json needs --out: the standard output is the export.', USAGE);
    return withDatabase(
      readSettings(),
      async (db) => {
        const wanted = { parts: only, since };
        const summary = await (out === undefined ? toStandardOutput(db, wanted) : toFile(db, out, wanted));
        const { records, bytes, seconds } = summary;
        if (json) print(JSON.stringify(summary));
        else
          note(
            `Wrote ${counted(records, 'record')} in ${seconds.toFixed(1)} s${out === undefined ? '' : `; the file has ${counted(bytes, 'byte')}`}.`,
          );
      },
      LEAN,
    );
  },
});
