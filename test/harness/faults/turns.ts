import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from '@jest/globals';
import { openClient } from '../app/client.ts';
import { stopAfterTest } from './running.ts';

// A clock that goes as slowly as this machine is busy: a bound in turns is a ratio to what else happens at that moment.

/** Turns of a process that does nothing but answer: one ends when it has answered, the next is asked `TURN_MS` later. */
export interface Turns {
  /** How many passed between two moments, as `performance.now()` counts. */
  between(from: number, to: number): number;
  /** How many passed while a request ran. */
  during(request: { at: number; ms: number }): number;
}

export const TURN_MS = 10;
/** How many turns an idle machine takes in so many milliseconds; a busy one takes fewer. */
export const turnsIn = (ms: number): number => ms / TURN_MS;

const PROGRAM = `require('node:http')
  .createServer((request, response) => response.end())
  .listen(0, '127.0.0.1', function () { process.stdout.write(this.address().port + '\\n'); });`;

let child: ChildProcess | undefined;
let url: Promise<string> | undefined;
afterAll(() => void child?.kill('SIGKILL'));

const startServer = async (): Promise<string> => {
  const server = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] });
  child = server;
  const [port] = (await once(createInterface(server.stdout), 'line')) as [string];
  return `http://127.0.0.1:${port}`;
};

/** The address of what answers. */
export const controlUrl = (): Promise<string> => (url ??= startServer());

/** Counts turns until the test ends. */
export const startTurns = async (): Promise<Turns> => {
  const client = openClient(await controlUrl());
  const ends: number[] = [];
  let isStopped = false;
  stopAfterTest(() => (isStopped = true));
  const run = async (): Promise<void> => {
    while (!isStopped) {
      await client.get('/');
      ends.push(performance.now());
      await sleep(TURN_MS);
    }
    client.close();
  };
  void run();
  const between = (from: number, to: number): number => ends.filter((end) => end >= from && end <= to).length;
  return { between, during: ({ at, ms }) => between(at, at + ms) };
};
