// Loaded into the gateway before its own code: profiles it while told to, over the channel of `fork`.
import { Session } from 'node:inspector/promises';

const INTERVAL_US = 200;
const session = new Session();
session.connect();

process.on('message', async (message) => {
  if (message === 'start') {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US });
    await session.post('Profiler.start');
    process.send({});
  } else {
    const { profile } = await session.post('Profiler.stop');
    process.send({ profile });
  }
});
// The channel alone keeps nothing alive: the gateway still ends when it is told to.
process.channel.unref();
