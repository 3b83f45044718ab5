import cluster, { type Worker } from 'node:cluster';

/** What node:cluster tells a worker with each connection, and the mark of its own messages. Neither is documented. */
const MARK = 'NODE_CLUSTER';
const CONNECTION = 'newconn';
/** How soon to look again whether all has been read that a worker said before it ended. */
const LOOK_AGAIN_MS = 50;

interface HandoverMessage {
  cmd?: string;
  act?: string;
  /** Counts messages. */
  seq: number;
  /** Of an answer, the message that it answers. */
  ack?: number;
}

/** A connection that was accepted, and belongs to no worker yet. */
interface Handle {
  close(): void;
}

type SendMessage = (message: HandoverMessage, handle?: Handle, ...more: unknown[]) => boolean;

/**
 * The connections on their way to workers. Of one that goes to a worker which is killed before it takes it, node:cluster never
 * hears again: nobody answers it, nor closes it. Here it goes to another worker, as if the first one had refused it. A version
 * of Node.js with other messages would be as it was without this.
 */
export class Handovers {
  readonly #listening = new Set<Worker>();

  /** Watches what a worker is handed, which was just forked. */
  watch(worker: Worker): void {
    const { process: child } = worker;
    const send = child.send.bind(child) as SendMessage;
    const underWay = new Map<number, Handle>();
    const watched: SendMessage = (message, handle, ...more) => {
      if (message.cmd === MARK && message.act === CONNECTION && handle) underWay.set(message.seq, handle);
      return send(message, handle, ...more);
    };
    child.send = watched as typeof child.send;
    child.on('internalMessage', ({ cmd, ack }: HandoverMessage) => {
      if (cmd === MARK && ack !== undefined) underWay.delete(ack);
    });
    worker.once('listening', () => this.#listening.add(worker));
    const recover = (): void => {
      if (child.connected) {
        setTimeout(recover, LOOK_AGAIN_MS).unref();
        return;
      }
      // One that is not forgotten would be handed the next one, too.
      const isForgotten = cluster.workers?.[worker.id] === undefined;
      for (const [seq, handle] of underWay) {
        if (isForgotten && this.#listening.size > 0)
          child.emit('internalMessage', { cmd: MARK, ack: seq, accepted: false });
        else handle.close();
      }
    };
    worker.once('exit', () => {
      this.#listening.delete(worker);
      recover();
    });
  }
}
