import { sandboxOf } from '../../config/config.ts';
import type { StatusDocuments } from '../../app/start.ts';
import { wholeNumberUpTo } from './shared/arguments.ts';
import { command, flag, option } from './shared/command.ts';
import { assertThere, CommandError, describeFault, readSettings, USAGE } from './shared/common.ts';
import { SEEDS } from '../../../openapi/kit/conformance/seed.ts';

/** Loaded only if metrics are configured. */
const statusDocuments: StatusDocuments = async (sources) =>
  (await import('../status/documents.ts')).statusDocuments(sources, describeFault);

export const serveCommand = command({
  summary: 'run the service',
  description:
    'Runs the service until it gets SIGTERM or SIGINT; then it finishes the requests under way and stops. The log goes ' +
    'to standard error: readable on a terminal, else JSON lines. All settings are environment variables; docs/settings.md lists them.',
  input: {
    sandbox: flag(
      'serve made-up data from memory, with the same ids after each start, and test keys; docs/sandbox.md says how a job gets ' +
        'its own copy, resets it, and has requests fail on demand',
    ),
    seed: option(
      '<n>',
      'with --sandbox, have some calls fail or come late: the same ones for the same seed, so that a run of tests can be repeated',
      wholeNumberUpTo(SEEDS - 1),
    ),
  },
  examples: ['', '--sandbox', '--sandbox --seed 7'],
  run: async ({ sandbox, seed }) => {
    if (seed !== undefined && !sandbox) throw new CommandError('--seed is for a sandbox: add --sandbox.', USAGE);
    // Loading the server takes longer than any other command takes to run.
    const [{ serve }, { kit }] = await Promise.all([import('../../app/server.ts'), import('../../sandbox/kit.ts')]);
    const config = readSettings({ logs: true });
    // Otherwise the service would create an empty database and seem to work.
    if (config.isReadOnly && !sandbox) assertThere(config);
    await serve(sandbox ? sandboxOf(config, seed) : config, { ...kit, statusDocuments });
  },
});
