import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import {
  type ConsumerContract,
  ConsumerContractError,
  parseConsumerContract,
} from '../../../../contract/consumer-contract.ts';
import {
  type ClientDocument,
  documented,
  DocumentError,
  parseDocument,
} from '../../../../openapi/kit/conformance/document/client-document.ts';
import { ask, boundedText } from '../../../../openapi/kit/conformance/http/remote.ts';
import { valueAt } from '../../../../openapi/kit/conformance/values.ts';
import { UseError } from '../../../../openapi/kit/consumers/uses.ts';
import { defaulted, type Input } from '../shared/command.ts';
import { CommandError, NO_GATEWAY, USAGE } from '../shared/common.ts';
import { printable } from '../shared/output.ts';

const TIMEOUT_MS = 10_000;

const require = createRequire(import.meta.url);

/** The OpenAPI document of this version. */
export const ownDocument = (): ClientDocument => documented('openapi.json', require('#openapi/openapi.json') as object);

/** The document of an earlier release; undefined if this package does not contain it. */
export const releasedDocument = (version: string): ClientDocument | undefined => {
  if (!/^\d+\.\d+\.\d+$/.test(version)) return undefined;
  try {
    return documented(version, require(`#openapi/released/${version}/openapi.json`) as object);
  } catch {
    return undefined;
  }
};

export const versionOf = ({ document }: ClientDocument): string => String(valueAt(document, ['info', 'version']));

/** Reads a file. @throws CommandError */
export const readWith = async <T>(
  file: string,
  parse: (name: string, text: string) => T,
  read: (file: string) => Promise<string> = (path) => boundedText(createReadStream(path)),
): Promise<T> => {
  try {
    return parse(basename(file), await read(file));
  } catch (error) {
    const isExplained = [DocumentError, UseError, ConsumerContractError].some((kind) => error instanceof kind);
    const { message } = error as Error;
    throw new CommandError(isExplained ? message : `${file} cannot be read: ${message}.`, USAGE);
  }
};

/** Reads a document from a file. @throws CommandError */
export const readDocument = (file: string): Promise<ClientDocument> => readWith(file, parseDocument);

/** Yields the contracts in files and in folders. @throws CommandError */
export async function* readContracts(paths: readonly string[]): AsyncGenerator<ConsumerContract> {
  for (const path of paths) {
    const isFolder = await stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    const names = isFolder ? (await readdir(path)).filter((name) => name.endsWith('.json')).toSorted() : undefined;
    if (names?.length === 0) throw new CommandError(`${path} has no .json file.`, USAGE);
    for (const file of names?.map((name) => join(path, name)) ?? [path]) {
      yield await readWith(file, parseConsumerContract);
    }
  }
}

export const tagOption = (description: string): Input<string> => defaulted('<name>', description, 'production');

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
