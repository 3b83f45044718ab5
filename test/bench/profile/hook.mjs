// Loaded into the gateway before its own code: profiles it while told to, over the channel of `fork`.
import { Session } from 'node:inspector/promises';

const INTERVAL_US = 200;
const session = new Session();
session.connect();

const start = async () => {
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US });
  await session.post('Profiler.start');
  return {};
};

process.on('message', (message) => {
  const done = message === 'start' ? start() : session.post('Profiler.stop');
  void done.then((answer) => process.send(answer));
});
// The channel alone keeps nothing alive: the gateway still ends when it is told to.
process.channel.unref();
