import { Command } from 'commander';
import { readConfig } from '../config.ts';
import { examples } from './common.ts';

export const serveCommand = (): Command =>
  new Command('serve')
    .summary('run the service')
    .description(
      'Runs the service until it gets SIGTERM or SIGINT, then finishes what runs and stops. The log goes to the ' +
        'standard error as JSON lines. All settings are environment variables; README lists them.',
    )
    .addHelpText('after', examples('serve'))
    .action(async () => {
      // Loading the server takes longer than any other command runs.
      const { serve } = await import('../server.ts');
      await serve(readConfig());
    });
