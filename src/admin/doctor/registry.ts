import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { timeoutSignal } from '../../base/runtime.ts';
import type { Package } from '../../base/packages.ts';

const TIMEOUT_MS = 10_000;

/** The digest of a file, such as `sha256-hex`; undefined if it is missing. */
const digestOf = async (path: string, kind: string): Promise<string | undefined> => {
  const [algorithm = '', encoding] = kind.split('-');
  try {
    return createHash(algorithm)
      .update(await readFile(path))
      .digest(encoding as 'hex' | 'base64');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

/**
 * Asks a registry for a package. The version must be there and, if `folder` has the package, be the same file: another
 * owner may have registered the name. Returns the fault in a sentence.
 */
export const faultOfPublished = async (
  { name, version, probe, has = '', file, digest }: Package,
  registry: string,
  folder: string | undefined,
): Promise<string | undefined> => {
  const which = `${name} ${version}`;
  let reply: Response;
  try {
    reply = await fetch(registry + probe, { signal: timeoutSignal(TIMEOUT_MS) });
  } catch (error) {
    return `${registry} does not answer: ${(error as Error).message}.`;
  }
  const text = await reply.text();
  if (!reply.ok) return `${registry} answers ${reply.status} for ${which}.`;
  if (!text.includes(has)) return `${registry} does not have ${which}.`;
  const expected =
    digest === undefined || folder === undefined ? undefined : await digestOf(join(folder, file), digest);
  return expected === undefined || text.includes(expected) ? undefined : `${which} at ${registry} is another package.`;
};
