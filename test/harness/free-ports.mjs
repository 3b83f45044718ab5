/** Plain JavaScript: programs that run uncompiled share it with the tests. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Ports of 127.0.0.1 on which no program listens, each another one. */
export const freePorts = async (count) => {
  const probes = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  const ports = await Promise.all(
    probes.map(async (probe) => {
      await once(probe, 'listening');
      return probe.address().port;
    }),
  );
  await Promise.all(probes.map((probe) => once(probe.close(), 'close')));
  return ports;
};

/** One of them. */
export const freePort = async () => (await freePorts(1))[0];
