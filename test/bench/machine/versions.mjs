import { basename, resolve } from 'node:path';
import { startDelay } from './delay.mjs';
import { startSeeded, startSeededSqlite } from './seeded.mjs';
import { startGateway } from './gateway.mjs';

/** Callers are told apart by the address that they forward, too. */
const COMMON = { TRUST_PROXY: '1' };

const variablesOf = (text) => Object.fromEntries(text.split(' ').map((pair) => pair.split(/=(.*)/s, 2)));

/** What is to be set side by side: this version first, those of `--before`, and this one with each `--env`. */
export const kindsOf = ({ before = [], env = [] }) => [
  { name: 'now' },
  ...before.map((folder) => ({ name: basename(resolve(folder)), root: resolve(folder) })),
  ...env.map((text) => ({ name: text, env: variablesOf(text) })),
];

/**
 * Starts the gateways to set side by side, each on a database of its own that its version seeded. `distanceMs`: how much
 * later each reply of the database comes.
 *
 * @returns for each its `name`, `server`, `database` with `samples`, and `stop()`
 */
export const startVersions = async (options, distanceMs = 0) => {
  const versions = [];
  for (const { name, root, env } of kindsOf(options)) {
    const start = options.engine === 'sqlite' ? startSeededSqlite : startSeeded;
    const database = await start(options.games, { samples: true, ...(root !== undefined && { version: root }) });
    const delay = distanceMs > 0 ? await startDelay(database.url, distanceMs) : undefined;
    const { url } = delay ?? database;
    const server = await startGateway({ url, env: { ...COMMON, ...env }, root });
    const stop = async () => {
      await server.stop('SIGKILL');
      delay?.stop();
      await database.stop();
    };
    versions.push({ name, server, database, stop });
  }
  return versions;
};

/** @throws Error if the server of a version has ended */
export const demandRunning = ({ name, server: { child } }) => {
  const how = child.signalCode ?? child.exitCode;
  if (how !== null) throw new Error(`The server of "${name}" ended: ${how}.`);
};

/** The callers of a crowd, each with an address and a key of its own. */
export const callersOf = ({ keys }) =>
  keys.map((key, index) => ({ address: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`, key }));
