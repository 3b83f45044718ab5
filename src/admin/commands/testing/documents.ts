import { createReadStream } from 'node:fs';
import { createRequire } from 'node:module';
import { basename } from 'node:path';
import {
  type ClientDocument,
  documented,
  DocumentError,
  parseDocument,
} from '../../../../openapi/kit/conformance/document/client-document.ts';
import { ask, boundedText } from '../../../../openapi/kit/conformance/http/remote.ts';
import { valueAt } from '../../../../openapi/kit/conformance/values.ts';
import { CommandError } from '../shared/common.ts';
import { printable } from '../shared/output.ts';

const USAGE = 2;
const NO_GATEWAY = 3;
const TIMEOUT_MS = 10_000;

const require = createRequire(import.meta.url);

/** The document of this version. */
export const ownDocument = (): ClientDocument => documented('openapi.json', require('#openapi/openapi.json') as object);

/** The document of an earlier release; undefined where this package does not hold it. */
export const releasedDocument = (version: string): ClientDocument | undefined => {
  if (!/^\d+\.\d+\.\d+$/.test(version)) return undefined;
  try {
    return documented(version, require(`#openapi/released/${version}/openapi.json`) as object);
  } catch {
    return undefined;
  }
};

export const versionOf = ({ document }: ClientDocument): string => String(valueAt(document, ['info', 'version']));

/** Reads a document from a file. @throws CommandError */
export const readDocument = async (file: string): Promise<ClientDocument> => {
  try {
    return parseDocument(basename(file), await boundedText(createReadStream(file)));
  } catch (error) {
    if (error instanceof DocumentError) throw new CommandError(error.message, USAGE);
    throw new CommandError(`${file} cannot be read: ${(error as Error).message}.`, USAGE);
  }
};

/** The document that a gateway publishes. @throws CommandError */
export const fetchDocument = async (url: string): Promise<ClientDocument> => {
  const address = `${url}/openapi.json`;
  try {
    const { status, isOk, text } = await ask(address, TIMEOUT_MS);
    if (!isOk) throw new Error(`status ${status}`);
    return parseDocument(address, text);
  } catch (error) {
    const words = `There is no gateway's document at ${address}: ${(error as Error).message}`;
    throw new CommandError(printable(words), NO_GATEWAY);
  }
};
