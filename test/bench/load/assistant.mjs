import { fileURLToPath } from 'node:url';
import { start, stop } from '../machine/processes.mjs';

/**
 * Starts `crowd.mjs` or `probe.mjs`.
 *
 * @returns `ask(order)`, which resolves with what came of an order, and `stop()`
 */
export const startAssistant = (name) => {
  const file = fileURLToPath(new URL(`${name}.mjs`, import.meta.url));
  const server = start(process.execPath, [file], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const waiting = new Map();
  let lastId = 0;
  server.child.on('message', ({ id, result }) => {
    waiting.get(id)(result);
    waiting.delete(id);
  });
  return {
    ask: (order) =>
      new Promise((resolve) => {
        lastId += 1;
        waiting.set(lastId, resolve);
        server.child.send({ id: lastId, order });
      }),
    stop: () => stop(server, 'SIGKILL'),
  };
};
