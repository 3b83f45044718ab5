import { PROGRAM, startServer } from '../../clients/sdk/gateway.mjs';

/** The key of the sandbox with every scope, as docs/sandbox.md prints it. */
export const KEY = 'cgk_sandboxAll00000000000000000000002FwSwT';

/** Starts a sandbox on a free port. Returns its `url` and `stop`. */
export const startSandbox = () =>
  startServer(
    PROGRAM,
    ['serve', '--sandbox'],
    { PATH: process.env.PATH, HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'warn' },
    /^ *Docs: +(http\S+)\/docs\/$/m,
  );
