import { type FileHandle, open } from 'node:fs/promises';
import { createReadStream } from 'node:fs';
import type { Header } from './format.ts';
import { END, HeaderLine, kindOfPart, type Part, parts, TransferError } from './format.ts';
import { type ExportOptions, lineOf, type ExportPosition } from './export.ts';
import { type Line, readLines } from './lines.ts';

/** The complete part of a file in which an export was interrupted. */
interface Begun {
  header: Header;
  /** The last record; undefined if the file has none yet. */
  place: ExportPosition | undefined;
  /** The position of that record's line, in bytes: an export writes again from here on. */
  length: number;
}

/** A file for an export. Only its owner may read it: it contains passwords of archives. */
export class ExportFile {
  readonly header: Header;
  readonly place: ExportPosition | undefined;
  readonly #handle: FileHandle;
  #length: number;

  private constructor(handle: FileHandle, { header, place, length }: Begun) {
    this.#handle = handle;
    this.header = header;
    this.place = place;
    this.#length = length;
  }

  /**
   * Opens a file for an export: a new file, or the file of the same export, to continue it after an interruption.
   * @throws TransferError when something else is in it, or all of the export
   */
  static async open(path: string, options: ExportOptions, begin: () => Promise<Header>): Promise<ExportFile> {
    const handle = await open(path, 'a+', 0o600);
    try {
      const { size } = await handle.stat();
      if (size > 0) {
        const begun = await readBegun(path, options);
        await handle.truncate(begun.length);
        return new ExportFile(handle, begun);
      }
      const header = await begin();
      const file = new ExportFile(handle, { header, place: undefined, length: 0 });
      await file.write(lineOf(header));
      return file;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  get length(): number {
    return this.#length;
  }

  async write(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    await this.#handle.appendFile(bytes);
    this.#length += bytes.length;
  }

  /** Resolves once everything is synced to the disk. */
  async finish(): Promise<void> {
    await this.#handle.sync();
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

const REMOVE = 'Give another file, or remove it first.';

const headerIn = (path: string, { text, isComplete }: Line, { parts: wanted, since }: ExportOptions): Header => {
  const header = readHeader(text);
  if (!header || !isComplete) throw new TransferError(`${path} is there and holds something else. ${REMOVE}`);
  const isSame =
    header.parts.join() === parts.filter((part) => wanted.includes(part)).join() &&
    header.since === (since?.toISOString() ?? null);
  if (!isSame) {
    const options = [`--only ${header.parts.join()}`, ...(header.since === null ? [] : [`--since ${header.since}`])];
    throw new TransferError(`${path} holds the beginning of another export (${options.join(' ')}). ${REMOVE}`);
  }
  return header;
};

/** Parses the header in a text; undefined if the text is none. */
export const readHeader = (text: string): Header | undefined => {
  try {
    return HeaderLine.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
};

const KIND = /^\{"kind":"(\w+)"/;
const ID = /^\{"kind":"\w+","id":"([0-9a-f-]{36})"/;

const partOfKind = (kind: string | undefined): Part | undefined => parts.find((part) => kindOfPart[part] === kind);

const readBegun = async (path: string, options: ExportOptions): Promise<Begun> => {
  let header: Header | undefined;
  let last: Line | undefined;
  let length = 0;
  for await (const lines of readLines(createReadStream(path))) {
    for (const line of lines) {
      if (!line.isComplete && header) break;
      if (header === undefined) {
        header = headerIn(path, line, options);
        length = line.text.length + 1;
        continue;
      }
      const kind = KIND.exec(line.text)?.[1];
      if (kind === END.kind) throw new TransferError(`${path} holds the whole export already. ${REMOVE}`);
      if (partOfKind(kind)) last = line;
    }
  }
  if (header === undefined) throw new TransferError(`${path} is there and holds something else. ${REMOVE}`);
  const part = partOfKind(KIND.exec(last?.text ?? '')?.[1]);
  const id = ID.exec(last?.text ?? '')?.[1];
  if (last === undefined || part === undefined || id === undefined) return { header, place: undefined, length };
  return { header, place: { part, id }, length: last.offset };
};
