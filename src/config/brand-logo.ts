import { readFileSync, statSync } from 'node:fs';

/** A picture that represents the service. */
export interface Logo {
  type: 'svg' | 'png';
  bytes: Buffer;
}

/** An unusable logo; the message continues the name of the file. */
export class LogoError extends Error {}

/** Limited, since every page loads the logo. */
const MAX_KIB = 256;

const PNG = Buffer.from('\x89PNG\r\n\x1A\n', 'latin1');
/** The root element, after the XML prolog. */
const SVG =
  /^\uFEFF?\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--(?:[^-]|-(?!->))*-->\s*|<!DOCTYPE[^>[]*(?:\[[^\]]*\]\s*)?>\s*)*<svg[\s>]/;

const isSvg = (bytes: Buffer): boolean => {
  try {
    return SVG.test(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return false;
  }
};

const read = (path: string): Buffer => {
  try {
    if (!statSync(path).isFile()) throw new LogoError('must be the path of a file');
    // A file that is too large is not read.
    if (statSync(path).size > MAX_KIB * 1024) throw new LogoError(`must have at most ${MAX_KIB} KiB`);
    return readFileSync(path);
  } catch (error) {
    if (error instanceof LogoError) throw error;
    const { code = 'fault' } = error as NodeJS.ErrnoException;
    throw new LogoError(code === 'ENOENT' ? 'must be the path of a file that is there' : `cannot be read: ${code}`);
  }
};

/** Reads a logo. @throws LogoError */
export const readLogo = (path: string): Logo => {
  const [, ending = ''] = /\.(svg|png)$/i.exec(path) ?? [];
  const type = ending.toLowerCase();
  if (type !== 'svg' && type !== 'png') throw new LogoError('must be the path of an .svg or .png file');
  const bytes = read(path);
  if (type === 'png' && !bytes.subarray(0, PNG.length).equals(PNG)) throw new LogoError('holds no PNG picture');
  if (type === 'svg' && !isSvg(bytes)) throw new LogoError('holds no SVG picture in UTF-8');
  return { type, bytes };
};
