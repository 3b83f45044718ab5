import cluster, { type Worker } from 'node:cluster';
import { setTimeout } from '../../base/runtime.ts';

/** The undocumented messages by which node:cluster hands connections to workers. */
const MARK = 'NODE_CLUSTER';
const CONNECTION = 'newconn';
/** The interval of checks whether all messages of an ended worker were read. */
const LOOK_AGAIN_MS = 50;

interface HandoverMessage {
  cmd?: string;
  act?: string;
  /** Counts messages. */
  seq: number;
  /** The message that an answer belongs to. */
  ack?: number;
}

/** An accepted connection that no worker has yet. */
interface Handle {
  close(): void;
}

type SendMessage = (message: HandoverMessage, handle?: Handle, ...more: unknown[]) => boolean;

/**
 * Tracks connections on their way to workers. node:cluster loses a connection whose worker is killed before it takes
 * it: the connection is neither answered nor closed. Here it goes to another worker, as if the first had refused it.
 * With a version of Node.js that has other messages, this does nothing.
 */
export class Handovers {
  readonly #listening = new Set<Worker>();

  /** Tracks the connections of a worker that was just forked. */
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
      // A worker that node:cluster still lists would get the next connection, too.
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
