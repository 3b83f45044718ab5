import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startLoad } from '../load/load.mjs';
import { operationsOf, requestsOf } from '../load/operations.mjs';
import { takeSamples } from '../load/samples.mjs';
import { startSeeded } from '../machine/seeded.mjs';
import { startServer } from '../machine/servers.mjs';
import { median, takeTurn, warmUp } from '../measure.mjs';
import { circumstances, figure, markdownTable } from '../report.mjs';
import { sharesByComponent } from './components.mjs';

const HOOK = fileURLToPath(new URL('hook.mjs', import.meta.url));
const NAMES = { toggle: 'toggleFavorite' };
/** What takes less than this share of a request is shown in a sum. */
const SMALLEST_SHARE = 0.004;

const tell = async ({ child }, message) => {
  const answer = once(child, 'message');
  child.send(message);
  return (await answer)[0];
};

/**
 * CPU time per answer of the gateway by component, as Markdown. The profiler slows what it watches, so its shares are
 * applied to the CPU time that was measured without it.
 */
export const profileOperation = async (name, options) => {
  const [connections] = options.connections;
  const database = await startSeeded(options.games);
  const samples = await takeSamples(database);
  const gateway = await startServer('gateway', { url: database.url, nodeOptions: ['--import', HOOK], ipc: true });
  const load = startLoad();
  const set = NAMES[name] ?? name;
  const operation = operationsOf(samples)[set];
  await load.define(set, requestsOf(operation));
  await warmUp(load, gateway, set);
  const milliseconds = options.seconds * 1000;
  const turn = { load, server: gateway, database, set, connections, milliseconds };
  const turns = [];
  for (let round = 0; round < options.rounds; round += 1) turns.push(await takeTurn(turn));
  const total = median(turns.map(({ serverUs }) => serverUs));

  await tell(gateway, 'start');
  await takeTurn({ ...turn, milliseconds: milliseconds * 2 });
  const shares = sharesByComponent((await tell(gateway, 'stop')).profile);
  await gateway.stop();
  await database.stop();

  const shown = shares.filter(([, share]) => share >= SMALLEST_SHARE);
  const rest = shares.filter(([, share]) => share < SMALLEST_SHARE).reduce((a, [, share]) => a + share, 0);
  const rows = [...shown, ['the rest', rest]].map(([component, share]) => [
    component,
    figure(share * total),
    `${(share * 100).toFixed(1)} %`,
  ]);
  return `${circumstances(database.version)}, ${figure(options.games)} games, ${connections} connection${connections === 1 ? '' : 's'}: ${figure(total)} µs of CPU per request

${markdownTable(['component', 'µs per request', 'share'], rows)}`;
};
