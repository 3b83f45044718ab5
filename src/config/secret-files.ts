import { lstatSync, readFileSync, statSync } from 'node:fs';
import { secretNames } from './variables.ts';

/** The environment with the content of its secret files, and their faults. */
interface ReadSecrets {
  values: Record<string, string>;
  /** The files, by the names of the variables read from them. */
  fromFiles: ReadonlyMap<string, string>;
  faults: string[];
}

/** Larger than any address or key. */
const MOST_BYTES = 64 * 1024;

const faultOf = ({ code = 'fault' }: NodeJS.ErrnoException, path: string): string => {
  if (code === 'EACCES' || code === 'EPERM') return `cannot be read by this account: ${code}`;
  if (code !== 'ENOENT') return `cannot be read: ${code}`;
  return lstatSync(path, { throwIfNoEntry: false })
    ? 'is a link to a file that is not there'
    : 'must be the path of a file that is there';
};

/** A secret from its file, or the fault of the file, in words that follow its path. */
export const readSecret = (path: string): { value: string } | { fault: string } => {
  try {
    const found = statSync(path);
    // Reading a pipe or a device may never end.
    if (!found.isFile())
      return { fault: `must be the path of a file, not of a ${found.isDirectory() ? 'folder' : 'pipe or device'}` };
    if (found.size > MOST_BYTES) return { fault: `holds more than ${MOST_BYTES} bytes` };
    const value = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    return value === '' ? { fault: 'must be the path of a file that is not empty' } : { value };
  } catch (error) {
    return { fault: faultOf(error as NodeJS.ErrnoException, path) };
  }
};

/** Reads the files that variables such as `DATABASE_URL_FILE` name: containers supply secrets in such files. */
export const withSecretFiles = (present: Readonly<Record<string, string>>): ReadSecrets => {
  const read: ReadSecrets = { values: { ...present }, fromFiles: new Map(), faults: [] };
  const fromFiles = new Map<string, string>();
  for (const name of secretNames) {
    const file = `${name}_FILE`;
    const path = present[file];
    if (path === undefined) continue;
    if (present[name] !== undefined) {
      read.faults.push(`${file} "${path}" must not be set beside ${name}: one of them is enough`);
      continue;
    }
    const secret = readSecret(path);
    if ('fault' in secret) {
      read.faults.push(`${file} "${path}" ${secret.fault}`);
    } else {
      read.values[name] = secret.value;
      fromFiles.set(name, path);
    }
  }
  return { ...read, fromFiles };
};
