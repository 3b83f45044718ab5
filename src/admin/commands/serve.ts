import { Command } from 'commander';
import { sandboxOf } from '../../config/config.ts';
import type { StatusDocuments } from '../../app/start.ts';
import { describeFault } from './shared/faults.ts';
import { examples, readSettings } from './shared/common.ts';

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
      'serve made-up data from memory, the same after each start, with test keys; docs/sandbox.md says how a job gets ' +
        'its own copy, resets it, and has requests fail on demand',
    )
    .addHelpText('after', examples('serve', 'serve --sandbox'))
    .action(async ({ sandbox }: { sandbox?: true }) => {
      // Loading the server takes longer than any other command runs.
      const [{ serve }, { kit }] = await Promise.all([import('../../app/server.ts'), import('../../testkit/kit.ts')]);
      const config = readSettings({ logs: true });
      await serve(sandbox ? sandboxOf(config) : config, { ...kit, statusDocuments });
    });
