import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll } from '@jest/globals';

// How soon this machine answers anyone, as busy as it is: a bound on the service is a bound on what it adds to that.

const PROGRAM = `require('node:http')
  .createServer((request, response) => response.end())
  .listen(0, '127.0.0.1', function () { process.stdout.write(this.address().port + '\\n'); });`;

let child: ChildProcess | undefined;
let url: Promise<string> | undefined;
afterAll(() => void child?.kill('SIGKILL'));

const start = async (): Promise<string> => {
  const server = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] });
  child = server;
  const [port] = (await once(createInterface(server.stdout), 'line')) as [string];
  return `http://127.0.0.1:${port}/`;
};

/** The address of a server that does nothing but answer, in a process of its own. */
export const controlUrl = (): Promise<string> => (url ??= start());
