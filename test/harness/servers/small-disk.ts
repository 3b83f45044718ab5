import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmdirSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';

/** A disk of its own, in memory. */
export interface SmallDisk {
  folder: string;
  /** Gives it another size, in MiB. */
  resize(mebibytes: number): void;
  remove(): void;
}

const disks = new Set<SmallDisk>();

afterAll(() => {
  for (const disk of disks) disk.remove();
});

/** A disk of so many MiB; undefined where this process may not mount one. */
export const mountSmallDisk = (mebibytes: number): SmallDisk | undefined => {
  const folder = mkdtempSync(join(tmpdir(), 'content-gateway-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    rmdirSync(folder);
    return undefined;
  }
  const disk: SmallDisk = {
    folder,
    resize: (size) => execFileSync('mount', ['-o', `remount,size=${size}m`, folder]),
    remove: () => {
      disks.delete(disk);
      execFileSync('umount', ['--lazy', folder]);
      rmdirSync(folder);
    },
  };
  disks.add(disk);
  return disk;
};

/** Fills the disk that a new file is on, to the last byte. */
export const fillDisk = (path: string): void => {
  const file = openSync(path, 'wx');
  try {
    for (const bytes of [65_536, 1024, 1]) {
      const chunk = Buffer.alloc(bytes, 1);
      try {
        while (writeSync(file, chunk) > 0);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    }
  } finally {
    closeSync(file);
  }
};
