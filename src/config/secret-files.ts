import { readFileSync } from 'node:fs';
import { secretNames } from './variables.ts';

/** The environment with what its secret files hold, and what is wrong with them. */
interface ReadSecrets {
  values: Record<string, string>;
  /** The names of the variables that were read from files. */
  fromFiles: ReadonlySet<string>;
  faults: string[];
}

const readSecret = (path: string): { value: string } | { fault: string } => {
  try {
    const value = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    return value === '' ? { fault: 'must be the path of a file that is not empty' } : { value };
  } catch (error) {
    const { code = 'fault' } = error as NodeJS.ErrnoException;
    return { fault: code === 'ENOENT' ? 'must be the path of a file that is there' : `cannot be read: ${code}` };
  }
};

/** Reads the files that variables such as `DATABASE_URL_FILE` name, as containers get their secrets. */
export const withSecretFiles = (present: Readonly<Record<string, string>>): ReadSecrets => {
  const read: ReadSecrets = { values: { ...present }, fromFiles: new Set(), faults: [] };
  const fromFiles = new Set<string>();
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
      fromFiles.add(name);
    }
  }
  return { ...read, fromFiles };
};
