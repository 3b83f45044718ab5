import type { Server, Socket } from 'node:net';

/** How long a connection is left unread at most while others come, milliseconds. */
const MOST_MS = 50;

/**
 * Lets all who stand at the door come in before any of them is listened to. Node accepts one connection at each turn of its
 * event loop, so that the requests of a crowd, read as they come, would have whoever connects behind it wait for seconds.
 */
export class Door {
  #held: Socket[] = [];
  #seen = 0;
  #since = 0;

  attachTo(server: Server): void {
    // The option of this name, which HTTP's servers do not pass on.
    Object.assign(server, { pauseOnConnect: true });
    server.on('connection', this.#hold);
  }

  readonly #hold = (socket: Socket): void => {
    if (this.#held.push(socket) > 1) return;
    this.#since = performance.now();
    setImmediate(this.#look);
  };

  readonly #look = (): void => {
    if (this.#held.length > this.#seen && performance.now() - this.#since < MOST_MS) {
      this.#seen = this.#held.length;
      setImmediate(this.#look);
      return;
    }
    const held = this.#held;
    this.#held = [];
    this.#seen = 0;
    for (const socket of held) socket.resume();
  };
}
