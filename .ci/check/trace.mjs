// Which files of the repository a command opens, by strace.
import { existsSync, readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';

/** The command that runs `argv` and writes what it opens into `file`. */
export const traced = (argv, file) => [
  'strace',
  '--follow-forks',
  '--seccomp-bpf',
  '--quiet=all',
  '--trace=open,openat,execve',
  `--output=${file}`,
  ...argv,
];

/** The files of the repository that were opened, by their paths in it, sorted. */
export const openedFiles = (file) => {
  const opened = [...readFileSync(file, 'utf8').matchAll(/(?:open|openat|execve)\([^"\n]*"([^"]+)"[^\n]*\) = \d/g)];
  const root = resolve('.');
  return [...new Set(opened.map(([, path]) => relative(root, resolve(path))))]
    .filter((path) => !path.startsWith('..') && existsSync(path))
    .toSorted((a, b) => a.localeCompare(b));
};
