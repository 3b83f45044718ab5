import type { DemoAndSandbox } from '../app/server.ts';
import { createDemo, type Demo } from './records.ts';
import { sandboxWelcome, welcome } from './welcome.ts';

/** The additions of the command `serve` to the service: the demo in an empty database, and the sandbox. */
export const kit: Omit<DemoAndSandbox<Demo>, 'statusDocuments'> = {
  createDemo,
  welcome,
  openSandbox: async (context) => {
    // A service without the sandbox does not load it.
    const [{ SandboxWorkspaces }, { createSandboxApp }] = await Promise.all([
      import('./workspaces.ts'),
      import('./middleware.ts'),
    ]);
    const spaces = await SandboxWorkspaces.open(context);
    return {
      app: createSandboxApp(context, spaces),
      welcome: (start) => sandboxWelcome(start, context.config.sandboxSeed),
      close: () => spaces.close(),
    };
  },
};
