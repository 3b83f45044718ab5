import { keyOption } from './shared/arguments.ts';
import { command } from './shared/command.ts';
import { assertThere, readSettings } from './shared/common.ts';

export const mcpCommand = command({
  summary: 'serve the API to an AI assistant (MCP)',
  description:
    'Speaks the Model Context Protocol on standard input and output, for an assistant that starts this program. Each ' +
    'operation of the API is a tool; the key decides which are there. It works on the database itself and needs no ' +
    'running service. The log goes to standard error. It ends when its input does, or on SIGTERM or SIGINT. A ' +
    'running service speaks the same protocol over HTTP at /mcp.',
  input: { key: keyOption('the API key to call with; without one only public operations are there.') },
  examples: [''],
  run: async ({ key }) => {
    const config = readSettings({ logs: true });
    assertThere(config);
    // Loading the server takes longer than any other command takes to run.
    const { serveMcp } = await import('../../app/mcp-stdio.ts');
    await serveMcp(config, key === '' ? undefined : key);
    // Unread output would keep this process alive.
    if (process.stdout.writableLength > 0) process.exit();
  },
});
