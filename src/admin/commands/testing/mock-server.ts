import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { z } from 'zod';
import { counted } from '../../../../contract/text.ts';
import { startMockServer } from '../../../../openapi/kit/mock-server/server.ts';
import { parseVectors, type Vector } from '../../../../openapi/kit/mock-server/vector.ts';
import { wholeNumberUpTo } from '../shared/arguments.ts';
import { command, defaulted, option } from '../shared/command.ts';
import { CommandError } from '../shared/common.ts';
import { print } from '../shared/output.ts';

const OURS = '#openapi/sdk/vectors.json';
const MAX_PORT = 65_535;

const readVectors = (file: string): Vector[] => {
  try {
    return parseVectors(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    const fault = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
    throw new CommandError(`${file} cannot be used: ${fault}`);
  }
};

export const mockServerCommand = command({
  summary: 'serve scripted faults for testing clients',
  description:
    'Serves scripted exchanges ("vectors"): refused connections, slow and broken replies, and whatever else a client ' +
    'may meet. GET /vectors?run=NAME lists the calls to make, and where; GET /seen?run=NAME returns the requests ' +
    'that arrived. It is also the proxy that some of them ask for: set HTTP_PROXY to its address, and NO_PROXY to ' +
    'direct.invalid. The SDKs are tested with it, and your own client can be too. Runs until it gets SIGTERM or SIGINT.',
  input: {
    port: defaulted('<number>', 'the port to listen on; 0 picks a free one', 4010, {
      parse: wholeNumberUpTo(MAX_PORT),
    }),
    vectors: option('<file>', 'your own exchanges, in the format of openapi/sdk/vectors.json'),
  },
  examples: ['', '--port 4011 --vectors my-vectors.json'],
  run: async ({ port, vectors }) => {
    const script = readVectors(vectors ?? createRequire(import.meta.url).resolve(OURS));
    const server = await startMockServer(script, port);
    const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
    print(`${counted(script.length, 'vector')} at ${server.url}/vectors`);
    await stopped;
    server.stop();
  },
});
