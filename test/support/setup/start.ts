import { serverVariable, startServer, type TestEngine, type ThrowawayServer } from '../servers.ts';

declare global {
  var TEST_SERVERS: ThrowawayServer[] | undefined;
}

/** Starts the server of a Jest project, once a run, before its first test; one that was named runs already. */
export const startServerOf = async (_globalConfig: unknown, project: { globals: { TEST_ENGINE: TestEngine } }) => {
  const { name, server } = project.globals.TEST_ENGINE;
  if (!server || 'url' in server) return;
  const started = await startServer(name, server);
  (globalThis.TEST_SERVERS ??= []).push(started);
  // The workers of Jest inherit it.
  process.env[serverVariable(name)] = started.url;
};
