import { exampleUser } from '../../contract/examples.ts';
import { scopes, type Scope } from '../../contract/index.ts';
import type { Database } from '../db/database.ts';
import { createDemo } from './records.ts';
import { keyOf } from '../key/format.ts';
import { insertKey } from '../key/service.ts';
import { seed } from '../seed/service.ts';

const RANDOM_LENGTH = 32;

/** A key that everyone knows. */
const knownKey = (name: string): string => keyOf(name.padEnd(RANDOM_LENGTH, '0'));

interface SandboxKey {
  key: string;
  name: string;
  scopes: readonly Scope[];
  expired?: true;
}

/** The keys of the sandbox, one for each set of scopes and one that has expired. They belong to the user `demo`. */
export const sandboxKeys: readonly SandboxKey[] = [
  { name: 'all scopes', key: knownKey('sandboxAll'), scopes },
  { name: 'content:write', key: knownKey('sandboxContentWrite'), scopes: ['content:write'] },
  { name: 'user:read', key: knownKey('sandboxUserRead'), scopes: ['user:read'] },
  { name: 'user:write', key: knownKey('sandboxUserWrite'), scopes: ['user:write'] },
  {
    name: 'content:write, user:read',
    key: knownKey('sandboxContentWriteUserRead'),
    scopes: ['content:write', 'user:read'],
  },
  {
    name: 'content:write, user:write',
    key: knownKey('sandboxContentWriteUserWrite'),
    scopes: ['content:write', 'user:write'],
  },
  { name: 'user:read, user:write', key: knownKey('sandboxUserReadUserWrite'), scopes: ['user:read', 'user:write'] },
  { name: 'expired', key: knownKey('sandboxExpired'), scopes, expired: true },
];

/** What the sandbox holds besides the demo's records. */
const content = { users: 50, games: 500, images: 100, randomSeed: 1, until: new Date('2026-01-01T00:00:00.000Z') };

/** Fills the empty database of a sandbox: the same users, records and keys each time. */
export const fillSandbox = async (db: Database): Promise<void> => {
  await createDemo(db, content.until);
  await seed(db, content, () => undefined);
  await db.transaction(async (tx) => {
    for (const { key, expired, ...wanted } of sandboxKeys) {
      const expiresAt = expired ? content.until : null;
      await insertKey(tx, { ...wanted, userId: exampleUser.id, expiresAt }, content.until, key);
    }
  });
};
