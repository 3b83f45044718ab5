import { engine } from '../harness/app/database.ts';
import { freePort } from '../harness/free-ports.mjs';
import { GALERA_NEMESES, startGalera } from './victims/galera.ts';
import { nemesesOfOne, startOneDatabase } from './victims/one-database.ts';
import { REPLICATED_NEMESES, startReplicated } from './victims/replicated.ts';
import { startVitessShards, VITESS_NEMESES } from './victims/vitess.ts';
import type { StartVictim, Victim } from './victims/victim.ts';

/** By its name, a set of database servers: its nemeses in the order in which `all` takes turns, and how it starts. */
const setups: Record<string, { nemeses: readonly string[]; start: StartVictim }> = {
  ...(engine === 'vitess'
    ? { vitess: { nemeses: VITESS_NEMESES, start: startVitessShards } }
    : { [engine]: { nemeses: nemesesOfOne(engine), start: startOneDatabase } }),
  ...(engine === 'mariadb' && {
    replicated: { nemeses: REPLICATED_NEMESES, start: startReplicated(true) },
    asynchronous: { nemeses: REPLICATED_NEMESES, start: startReplicated(false) },
    galera: { nemeses: GALERA_NEMESES, start: startGalera(1) },
    'galera-apart': { nemeses: GALERA_NEMESES, start: startGalera(2) },
    // Each statement waits for what the other nodes have committed.
    'galera-waiting': { nemeses: GALERA_NEMESES, start: startGalera(2, { wsrep_sync_wait: '7' }) },
  }),
};

/** A harm, by the name of its nemesis. */
export interface Harm {
  nemesis: string;
  harm: () => Promise<void>;
}

/** Starts the service and its database, to be harmed by a nemesis of `setup`, or by `all` in turns. @throws Error if it has no such one */
export const startVictim = async (
  setup: string,
  nemesis: string,
  prepare: (url: string) => Promise<void>,
): Promise<{ victim: Victim; webhookPort: number; harms: readonly Harm[] }> => {
  const chosen = setups[setup];
  if (!chosen) throw new Error(`There are no databases ${setup} on ${engine}: ${Object.keys(setups).join(', ')}.`);
  if (nemesis !== 'all' && !chosen.nemeses.includes(nemesis))
    throw new Error(`${setup} has no nemesis ${nemesis}: all, ${chosen.nemeses.join(', ')}.`);
  const names = nemesis === 'all' ? chosen.nemeses : [nemesis];
  const webhookPort = await freePort();
  const env = { WEBHOOK_ALLOW: '127.0.0.0/8', WEBHOOK_HTTP: 'true', WEBHOOK_PORTS: String(webhookPort) };
  const victim = await chosen.start({ nemeses: names, prepare, env });
  return { victim, webhookPort, harms: names.map((name) => ({ nemesis: name, harm: victim.nemeses[name]! })) };
};
