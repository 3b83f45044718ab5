import { realpathSync, statSync } from 'node:fs';
import { FileFault } from '../errors.ts';

/** The path of a database's log. SQLite keeps it beside the file itself, not beside a link to it. */
export const logOf = (file: string): string => `${realpathSync(file)}-wal`;

/** The files that SQLite has open. Data written to a file that is no longer at its path is lost when it is closed. */
const pathsOf = (file: string): string[] => [file, logOf(file), `${realpathSync(file)}-shm`];

const idOf = (path: string): string | undefined => {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
};

/** Detects whether the files of a database are still the ones that were opened. Create it once they are open. */
export class FileIdentity {
  readonly #files: { path: string; id: string | undefined }[];

  constructor(file: string) {
    this.#files = pathsOf(file).map((path) => ({ path, id: idOf(path) }));
  }

  /** Whether another file is at the path of the database. */
  get isReplaced(): boolean {
    const [file] = this.#files;
    const id = file && idOf(file.path);
    return id !== undefined && id !== file?.id;
  }

  /** @throws FileFault when a file was deleted, moved or replaced */
  assert(): void {
    for (const { path, id } of this.#files) {
      if (id !== undefined && idOf(path) !== id) {
        throw new FileFault(`${path} was deleted, moved or replaced while the service used it`);
      }
    }
  }
}
