import { closeSync, constants, fstatSync, openSync, readdirSync, type Stats, statSync } from 'node:fs';

const isOpen = (descriptor: number, file: Stats): boolean => {
  try {
    const { dev, ino } = fstatSync(descriptor);
    return dev === file.dev && ino === file.ino;
  } catch {
    return false;
  }
};

/** Opens a file, for writing only, under the number of a descriptor. */
const reopen = (descriptor: number, path: string): void => {
  closeSync(descriptor);
  const open = () => openSync(path, constants.O_WRONLY);
  const spare: number[] = [];
  for (let opened = open(); opened !== descriptor; opened = open()) spare.push(opened);
  for (const opened of spare) closeSync(opened);
};

/**
 * Makes each further read of an SQLite database fail as on a broken disk, in all connections that this process has to
 * it now. It cannot be mended. Pages that a connection keeps in memory are read again once another one has written.
 */
export const breakDisk = (url: string): void => {
  const file = url.slice('sqlite:'.length);
  for (const path of [file, `${file}-wal`]) {
    const opened = statSync(path);
    // A process that has run many tests has thousands: SQLite's binding closes a connection when its statements are garbage.
    for (const descriptor of readdirSync('/dev/fd').map(Number)) {
      if (isOpen(descriptor, opened)) reopen(descriptor, path);
    }
  }
};
