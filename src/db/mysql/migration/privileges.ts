import { type Direction, MigrationError } from '../../migration/run.ts';

// A migration that meets a missing privilege half-way has changed tables already.

/** The privileges that the account of the service needs. */
export const SERVICE_PRIVILEGES = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'] as const;

/** The privileges that the account that migrates needs. MariaDB makes foreign keys without REFERENCES. */
export const migrationPrivileges = (engine: 'mysql' | 'mariadb', direction: Direction): string[] => [
  ...SERVICE_PRIVILEGES,
  'CREATE',
  'ALTER',
  'INDEX',
  ...(engine === 'mysql' ? ['REFERENCES'] : []),
  ...(direction === 'down' ? ['DROP'] : []),
];

const GRANT = /^(GRANT|REVOKE) (.+) ON (?:TABLE )?(\*|`(?:[^`]|``)+`)\.(?:\*|`(?:[^`]|``)+`) (?:TO|FROM) /;

/** Whether the quoted database name in a grant, where `_` and `%` are wildcards, matches this database. */
const isMeant = (quoted: string, database: string): boolean => {
  if (quoted === '*') return true;
  const pattern = quoted
    .slice(1, -1)
    .replaceAll('``', '`')
    .replaceAll(/\\?[^]/g, (part) => {
      if (part === '%') return '[^]*';
      if (part === '_') return '[^]';
      return part.replace(/^\\/, '').replace(/[$()*+.?[\\\]^{|}]/, '\\$&');
    });
  return new RegExp(`^${pattern}$`, 'i').test(database);
};

/**
 * The privileges of `needed` that the lines of SHOW GRANTS do not give in a database. A privilege on one table counts
 * for all tables, since the lines do not say whether it is enough.
 */
export const missingPrivileges = (needed: readonly string[], database: string, lines: readonly string[]): string[] => {
  const held = new Set<string>();
  const parsed = lines.flatMap((line) => {
    const [, verb, list = '', on = ''] = GRANT.exec(line) ?? [];
    return verb !== undefined && isMeant(on, database) ? [{ verb, list }] : [];
  });
  for (const { verb, list } of parsed.toSorted((a, b) => (a.verb < b.verb ? -1 : 1))) {
    const names = list.replaceAll(/\([^)]*\)/g, '').split(',');
    for (const name of names.map((one) => one.trim().toUpperCase())) {
      const privileges = /^ALL\b/.test(name) ? needed : [name];
      for (const privilege of privileges) {
        if (verb === 'GRANT') held.add(privilege);
        else held.delete(privilege);
      }
    }
  }
  return needed.filter((privilege) => !held.has(privilege));
};

const quoted = (name: string): string => `\`${name.replaceAll('`', '``')}\``;

/** The privileges of `needed` that the account of a connection lacks, in words, and the statement that gives them. */
export interface Lack {
  message: string;
  grant: string;
}

/** Finds the privileges of `needed` that the account of a connection lacks. */
export const findLack = async (
  read: (sql: string) => Promise<unknown[]>,
  needed: readonly string[],
): Promise<Lack | undefined> => {
  const [row] = (await read('SELECT CURRENT_USER() AS account, DATABASE() AS name')) as Record<string, string>[];
  const { account = '', name = '' } = row ?? {};
  const grants = (await read('SHOW GRANTS')).flatMap((line) => Object.values(line as object) as string[]);
  const missing = missingPrivileges(needed, name, grants);
  if (missing.length === 0) return undefined;
  const at = account.lastIndexOf('@');
  const grantee = `${quoted(account.slice(0, at))}@${quoted(account.slice(at + 1))}`;
  const list = missing.join(', ');
  return {
    message: `the account ${account} lacks ${list} on the database ${name}`,
    grant: `GRANT ${list} ON ${quoted(name)}.* TO ${grantee};`,
  };
};

/**
 * Checks that the account of a connection has the privileges for migrations.
 * @throws MigrationError that names the missing privileges, and the statement that gives them
 */
export const assertMayMigrate = async (
  read: (sql: string) => Promise<unknown[]>,
  engine: 'mysql' | 'mariadb',
  direction: Direction,
): Promise<void> => {
  const lack = await findLack(read, migrationPrivileges(engine, direction));
  if (lack) throw new MigrationError(`${lack.message}; nothing was changed. Let an administrator run: ${lack.grant}`);
};
