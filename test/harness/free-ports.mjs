/** Plain JavaScript: programs that run uncompiled share it with the tests. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Where systems look for no port by themselves: nobody takes one of these between this look and its use. */
const [FIRST, LAST] = [10_000, 32_000];

/** So many ports of 127.0.0.1 in a row on which no program listens. */
export const freePorts = async (count) => {
  for (;;) {
    const first = randomInt(FIRST, LAST - count);
    const ports = Array.from({ length: count }, (_, n) => first + n);
    const probes = [];
    try {
      for (const port of ports) {
        probes.push(createServer().listen(port, '127.0.0.1'));
        await once(probes.at(-1), 'listening');
      }
      return ports;
    } catch {
      // One of them is taken.
    } finally {
      await Promise.all(probes.map((probe) => new Promise((closed) => void probe.close(closed))));
    }
  }
};

/** One of them. */
export const freePort = async () => (await freePorts(1))[0];
