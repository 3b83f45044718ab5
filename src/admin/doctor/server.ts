import { currentDate, currentTime } from '../../base/runtime.ts';
import { liveInstances } from '../../app/instances/registry.ts';
import type { Config } from '../../config/config.ts';
import { placeOf, serverAddresses } from '../../db/address.ts';
import type { Database } from '../../db/database.ts';
import { isDurable, readServerFacts, type ServerFacts } from '../../db/server-facts.ts';
import { findLack, SERVICE_PRIVILEGES } from '../../db/mysql/migration/privileges.ts';
import { type Check, failure, type Finding, ok, skipped, warning } from './check.ts';

const SKEW_WARNING_MS = 1000;
const SKEW_FAILURE_MS = 10_000;
const NO_SERVER = skipped('SQLite is within this process.');
const LOOPBACK = /^(localhost|127\.|::1$)/;

const tls = ({ databaseUrl }: Config, { cipher }: ServerFacts): Finding => {
  if (cipher !== undefined) return ok(`The connection is encrypted by ${cipher}.`);
  if (serverAddresses(databaseUrl).every(({ host }) => LOOPBACK.test(host))) {
    return ok('The connection is not encrypted, and does not leave this machine.');
  }
  return warning(
    'The connection to the database is not encrypted.',
    'Give DATABASE_URL the parameters for TLS: docs/operations.md has them.',
  );
};

const clock = ({ now }: ServerFacts, sentAt: number, answeredAt: number): Finding => {
  const skew = Math.round(Math.max(sentAt - now.getTime(), now.getTime() - answeredAt, 0));
  const message = `The clocks of this machine and of the database are ${skew} ms apart.`;
  const cure = 'Let both machines keep their time by NTP.';
  if (skew > SKEW_FAILURE_MS) return failure(message, cure);
  return skew > SKEW_WARNING_MS ? warning(message, cure) : ok(message);
};

/** Checks the lag of each replica. */
const replicaChecks = ({ databaseReadUrl, maxReplicaLagMs }: Config, db: Database): Check[] =>
  (databaseReadUrl === undefined ? [] : serverAddresses(databaseReadUrl)).map((address) => ({
    name: `replica ${placeOf(address)}`,
    needsTables: true,
    run: async () => {
      // Loaded on demand, to keep the start short.
      const { Replicas } = await import('../../db/mysql/replicas.ts');
      const replicas = new Replicas([address], (sql) => db.read(sql), { maxLagMs: maxReplicaLagMs });
      try {
        await replicas.measure();
        const lagMs = replicas.lags.get(placeOf(address)) ?? Infinity;
        const fault = await replicas.fault(address);
        const cure = 'Until it has caught up, calls without a key do not use it. Look at SHOW REPLICA STATUS on it.';
        if (lagMs === Infinity && fault === undefined) {
          return warning(
            'It cannot be reached, or is empty.',
            'Look at DATABASE_READ_URL, the server and the network.',
          );
        }
        if (fault !== undefined) return warning(`It does not replicate: ${fault}.`, cure);
        const message = `It lags by ${(lagMs / 1000).toFixed(1)} s; REPLICA_MAX_LAG is ${maxReplicaLagMs / 1000} s.`;
        return lagMs > maxReplicaLagMs ? warning(message, cure) : ok(message);
      } finally {
        replicas.close();
      }
    },
  }));

/** Checks that the server accepts the connections of all instances. */
const connections = (
  { connections: found }: ServerFacts,
  { perProcess, processes }: { perProcess: number; processes: number },
): Finding => {
  if (!found) return skipped('The server does not tell how many connections it takes.');
  const needed = perProcess * processes;
  const message =
    `The server takes ${found.most} connections and has ${found.now}; ` +
    `${processes} processes of the service open at most ${perProcess} each, ${needed} in all.`;
  if (needed < found.most) return ok(message);
  return failure(message, `Set max_connections to more than ${needed}, or run fewer workers.`);
};

/** Checks of the database server and its connections, in order. `perProcess`: the most that a process opens. */
export const serverChecks = (config: Config, db: Database, perProcess: number): Check[] => {
  let asked: Promise<{ facts: ServerFacts | undefined; sentAt: number; answeredAt: number }> | undefined;
  const ask = async () => {
    await db.ping();
    const sentAt = currentTime();
    const facts = await readServerFacts(db);
    return { facts, sentAt, answeredAt: currentTime() };
  };
  const withFacts =
    (check: (facts: ServerFacts, at: { sentAt: number; answeredAt: number }) => Promise<Finding> | Finding) =>
    async (): Promise<Finding> => {
      const { facts, ...at } = await (asked ??= ask());
      return facts ? check(facts, at) : NO_SERVER;
    };
  return [
    {
      name: 'server',
      run: async () => {
        const { facts } = await (asked ??= ask());
        return ok(facts ? `${db.dialect.engine} ${facts.version} answers.` : 'The file can be read.');
      },
    },
    { name: 'TLS', run: withFacts((facts) => tls(config, facts)) },
    { name: 'clock', run: withFacts((facts, { sentAt, answeredAt }) => clock(facts, sentAt, answeredAt)) },
    {
      name: 'privileges',
      run: withFacts(async () => {
        // A proxy in front of the server may not know the statement.
        const lack = await findLack((sql) => db.read(sql), SERVICE_PRIVILEGES).catch(() => null);
        if (lack === null) return skipped('The server does not tell what the account may do.');
        return lack
          ? failure(`${lack.message}.`, `Let an administrator run: ${lack.grant}`)
          : ok('The account may do what the service needs.');
      }),
    },
    {
      name: 'durability',
      run: async () =>
        (await isDurable(db))
          ? ok('The database writes each commit to the disk.')
          : warning(
              'A power loss may lose what callers were told is stored.',
              'Set innodb_flush_log_at_trx_commit=1 on the server.',
            ),
    },
    {
      name: 'connections',
      needsTables: true,
      run: withFacts(async (facts) => {
        const instances = await liveInstances(db, currentDate());
        const seen = instances.reduce((sum, { workers }) => sum + workers, 0);
        return connections(facts, { perProcess, processes: Math.max(seen, config.workers) });
      }),
    },
    ...replicaChecks(config, db),
  ];
};
