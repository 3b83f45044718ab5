import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Command } from 'commander';
import { z } from 'zod';
import { startMockServer } from '../../../../openapi/kit/mock-server/server.ts';
import { parseVectors, type Vector } from '../../../../openapi/kit/mock-server/vector.ts';
import { wholeNumberUpTo } from '../shared/arguments.ts';
import { CommandError, examples } from '../shared/common.ts';
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

/** The command, also under its former name, `fault-server`. */
export const mockServerCommand = (name = 'mock-server'): Command =>
  new Command(name)
    .summary('serve scripted faults for testing clients')
    .description(
      'Serves scripted exchanges ("vectors"): refused connections, slow and broken replies, and whatever else a client ' +
        'may meet. GET /vectors?run=NAME lists the calls to make, and where; GET /seen?run=NAME returns the requests ' +
        'that arrived. It is also the proxy that some of them ask for: set HTTP_PROXY to its address, and NO_PROXY to ' +
        'direct.invalid. The SDKs are tested with it, and your own client can be too. Runs until it gets SIGTERM or SIGINT.',
    )
    .option('--port <number>', 'the port to listen on; 0 picks a free one', wholeNumberUpTo(MAX_PORT), 4010)
    .option('--vectors <file>', 'your own exchanges, in the format of openapi/sdk/vectors.json')
    .addHelpText('after', examples('mock-server', 'mock-server --port 4011 --vectors my-vectors.json'))
    .action(async ({ port, vectors }: { port: number; vectors?: string }) => {
      const script = readVectors(vectors ?? createRequire(import.meta.url).resolve(OURS));
      const server = await startMockServer(script, port);
      const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
      print(`${script.length} vectors at ${server.url}/vectors`);
      await stopped;
      server.stop();
    });
