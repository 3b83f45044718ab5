import { serverVariable, startServer, type TestEngine, type ThrowawayServer } from '../../servers/servers.ts';
import { BELOW_VARIABLE, KEYSPACES_VARIABLE, startVitess } from '../../servers/vitess.ts';

declare global {
  var TEST_SERVERS: ThrowawayServer[] | undefined;
}

/** Starts the server of a Jest project, once a run, before its first test; one that was named runs already. */
export const startServerOf = async (_globalConfig: unknown, project: { globals: { TEST_ENGINE: TestEngine } }) => {
  const engine = project.globals.TEST_ENGINE;
  if (!engine.server || 'url' in engine.server) return;
  const keep = (started: ThrowawayServer): void => {
    (globalThis.TEST_SERVERS ??= []).push(started);
    // The workers of Jest inherit it.
    process.env[serverVariable(engine.name)] = started.url;
  };
  if (engine.name === 'vitess') {
    const started = await startVitess(engine.server);
    keep(started);
    process.env[KEYSPACES_VARIABLE] = started.keyspaces;
    process.env[BELOW_VARIABLE] = started.below;
  } else {
    keep(await startServer(engine.name, engine.server));
  }
};
