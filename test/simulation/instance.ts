import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import { createApp } from '../../src/app/app.ts';
import { type Context, openContext, startBackgroundWork } from '../../src/app/context.ts';
import { createLog } from '../../src/app/log.ts';
import { httpServerOf } from '../../src/app/server.ts';
import { currentTime } from '../../src/base/runtime.ts';
import type { Config } from '../../src/config/config.ts';
import type { Connection } from '../../src/db/connection.ts';
import type { send } from '../../src/event/webhook/sender/send.ts';
import type { Random } from '../../src/sandbox/seed/random.ts';
import { DatabaseLink } from './database.ts';
import type { Host } from './network.ts';

interface Surroundings {
  config: Config;
  database: Connection;
  deliver: typeof send;
  random: Random;
  note: (line: string) => void;
}

/** The service in a process of its own, as far as others can tell. */
export class Instance implements Host {
  readonly name: string;
  readonly #surroundings: Surroundings;
  /** How far its clock is ahead, in milliseconds. */
  skewMs = 0;
  #running: { context: Context; link: DatabaseLink; accept: (connection: Duplex) => void } | undefined;

  constructor(name: string, surroundings: Surroundings) {
    this.name = name;
    this.#surroundings = surroundings;
  }

  get isUp(): boolean {
    return this.#running !== undefined;
  }

  get link(): DatabaseLink | undefined {
    return this.#running?.link;
  }

  readonly accept = (connection: Duplex): void => this.#running?.accept(connection);

  async start(): Promise<void> {
    const { config, database, deliver, random, note } = this.#surroundings;
    const link = new DatabaseLink(random, (sql) => note(`${this.name} ${sql}`));
    const log = createLog('silent', { write: () => undefined });
    const context = await openContext(config, log, () => new Date(currentTime() + this.skewMs), undefined, {
      deliver,
      connect: () => Promise.resolve(link.over(database)),
    });
    await startBackgroundWork(context);
    const app = createApp(context);
    const server = httpServerOf(context, app, { prototypes: app });
    this.#running = { context, link, accept: (connection) => server.accept(connection as Socket) };
  }

  /** Ends without a word: no statement of it has an effect from now on. The network cuts its connections. */
  kill(): void {
    this.#running?.link.kill();
    this.#running = undefined;
  }
}
