import { Command } from 'commander';
import { readConfig, sandboxOf } from '../config.ts';
import { examples } from './common.ts';

export const serveCommand = (): Command =>
  new Command('serve')
    .summary('run the service')
    .description(
      'Runs the service until it gets SIGTERM or SIGINT, then finishes what runs and stops. The log goes to the ' +
        'standard error as JSON lines. All settings are environment variables; README lists them.',
    )
    .option(
      '--sandbox',
      'serve made-up data from memory, the same after each start, with the test keys that README lists; the headers ' +
        'X-Sandbox-Delay and X-Sandbox-Status of a request delay it and make it fail',
    )
    .addHelpText('after', examples('serve', 'serve --sandbox'))
    .action(async ({ sandbox }: { sandbox?: true }) => {
      // Loading the server takes longer than any other command runs.
      const { serve } = await import('../server.ts');
      const config = readConfig();
      await serve(sandbox ? sandboxOf(config) : config);
    });
