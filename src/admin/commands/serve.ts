import { Command, Option } from 'commander';
import { sandboxOf } from '../../config/config.ts';
import type { StatusDocuments } from '../../app/start.ts';
import { describeFault } from './shared/faults.ts';
import { wholeNumberUpTo } from './shared/arguments.ts';
import { assertThere, CommandError, examples, readSettings } from './shared/common.ts';
import { SEEDS } from '../../../openapi/kit/conformance/seed.ts';

const USAGE = 2;

interface ServeOptions {
  sandbox?: true;
  seed?: number;
}

/** Loaded where there are metrics. */
const statusDocuments: StatusDocuments = async (sources) =>
  (await import('../status/documents.ts')).statusDocuments(sources, describeFault);

export const serveCommand = (): Command =>
  new Command('serve')
    .summary('run the service')
    .description(
      'Runs the service until it gets SIGTERM or SIGINT; then it finishes the requests under way and stops. The log goes ' +
        'to standard error: readable on a terminal, else JSON lines. All settings are environment variables; docs/settings.md lists them.',
    )
    .option(
      '--sandbox',
      'serve made-up data from memory, with the same ids after each start, and test keys; docs/sandbox.md says how a job gets ' +
        'its own copy, resets it, and has requests fail on demand',
    )
    .addOption(
      new Option(
        '--seed <n>',
        'with --sandbox, have some calls fail or come late: the same ones for the same seed, so that a run of tests can be repeated',
      ).argParser(wholeNumberUpTo(SEEDS - 1)),
    )
    .addHelpText('after', examples('serve', 'serve --sandbox', 'serve --sandbox --seed 7'))
    .action(async ({ sandbox, seed }: ServeOptions) => {
      if (seed !== undefined && !sandbox) throw new CommandError('--seed is for a sandbox: add --sandbox.', USAGE);
      // Loading the server takes longer than any other command runs.
      const [{ serve }, { kit }] = await Promise.all([import('../../app/server.ts'), import('../../sandbox/kit.ts')]);
      const config = readSettings({ logs: true });
      // It would make an empty database, and say that all is well.
      if (config.isReadOnly && !sandbox) assertThere(config);
      await serve(sandbox ? sandboxOf(config, seed) : config, { ...kit, statusDocuments });
    });
