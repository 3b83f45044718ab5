// Ends with status 0 if the service of this container answers. Whether its database does as well is for load balancers to ask
// (/readyz): nothing is mended by restarting the service when the database is away.
import { get } from 'node:http';

const TIMEOUT_MS = 3000;
/** What stands for all addresses, and cannot itself be called everywhere. */
const LOCAL = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

const { HOST: host = '', PORT: port } = process.env;

/** @param {string} fault */
const fail = (fault) => {
  console.error(fault);
  process.exit(1);
};

get(
  { host: LOCAL.get(host) ?? (host || '127.0.0.1'), port: port || 3000, path: '/healthz', timeout: TIMEOUT_MS },
  ({ statusCode }) => {
    if (statusCode !== 200) fail(`/healthz answers ${statusCode}`);
    process.exit(0);
  },
)
  .on('timeout', () => fail(`/healthz does not answer within ${TIMEOUT_MS / 1000} seconds`))
  .on('error', ({ message }) => fail(message));
