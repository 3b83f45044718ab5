import { createCipheriv, createDecipheriv, hash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { secureRandomBytes } from '../../base/runtime.ts';
import { In, LessThan } from 'typeorm';
import { type Config, ConfigError } from '../../config/config.ts';
import { readSecret } from '../../config/secret-files.ts';
import { NO_KEYS, readKeys } from '../../config/variables.ts';
import { IN_MEMORY, sqliteFile } from '../../db/address.ts';
import { sweepFound } from '../../db/sweep.ts';
import type { WorkloadPool } from '../../db/workload-pool.ts';
import { keyFileOf, makeKeyFile } from '../../db/sqlite/files/permissions.ts';
import { AppError } from '../../base/errors.ts';
import { type WebhookRow, webhooksIn } from './entity.ts';

/** Whether a path exists. If its folder cannot be read, opening the database reports the reason. */
const exists = (path: string): boolean => {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
};

/** The prefix of secrets in the Standard Webhooks specification. */
const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** An encrypted secret: the format version, the key id, and base64 of the nonce, the ciphertext and the tag. */
const ENCRYPTED = /^v1\.([\w-]{8})\.([\w+/=]+)$/;

/** The beginning of an encrypted secret. */
const ENCRYPTED_BY = /^v1\.([\w-]{8})\.$/;

/** A new secret: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
export const newSecret = (): string => PREFIX + secureRandomBytes(SECRET_BYTES).toString('base64');

/** The bytes of a secret, which sign messages. */
export const secretBytes = (secret: string): Buffer => Buffer.from(secret.slice(PREFIX.length), 'base64');

/** A key that encrypts secrets. Its id reveals nothing about it. */
interface Key {
  id: string;
  bytes: Buffer;
}

const keyOf = (bytes: Buffer): Key => ({
  id: hash('sha256', Buffer.concat([Buffer.from('webhook secrets '), bytes]), 'buffer')
    .subarray(0, 6)
    .toString('base64url'),
  bytes,
});

/**
 * Encrypts the secrets of webhooks with the first of its keys, and decrypts them with any key. In addition to the keys
 * in the settings, a database file has a key file, which is created if no other key exists.
 */
export class WebhookSecrets {
  readonly #given: readonly Key[];
  /** The file of the database; undefined for one on a server or in memory. */
  readonly #database: string | undefined;
  #filed: readonly Key[] = [];

  /** @throws ConfigError where the file with keys cannot be used */
  constructor({ webhookKeys, databaseUrl }: Pick<Config, 'webhookKeys' | 'databaseUrl'>) {
    const database = databaseUrl.startsWith('sqlite:') ? sqliteFile(databaseUrl) : undefined;
    const isInMemory = database === IN_MEMORY && webhookKeys.length === 0;
    this.#given = (isInMemory ? [secureRandomBytes(KEY_BYTES)] : webhookKeys).map(keyOf);
    this.#database = database === IN_MEMORY ? undefined : database;
    this.#read();
  }

  /** Whether a key exists or can be created. */
  get isOn(): boolean {
    return this.#given.length > 0 || this.#database !== undefined;
  }

  /** The ids of the current keys. If the key file cannot be read, its last known keys count. */
  get keyIds(): string[] {
    try {
      this.#read();
    } catch {
      // The start and `doctor` report the error.
    }
    return [...this.#given, ...this.#filed].map(({ id }) => id);
  }

  /** The location of a key, in words for the operator. */
  get place(): string {
    if (this.#given.length > 0 || this.#database === undefined) return 'WEBHOOK_SECRET_KEY';
    return keyFileOf(this.#database);
  }

  /** A secret as it is stored with its webhook. @throws AppError WEBHOOK_SECRETS_OFF */
  encrypt(secret: string, webhookId: string): string {
    const { id, bytes } = this.#usable();
    const nonce = secureRandomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, bytes, nonce).setAAD(Buffer.from(webhookId));
    const parts = [nonce, cipher.update(secretBytes(secret)), cipher.final(), cipher.getAuthTag()];
    return `v1.${id}.${Buffer.concat(parts).toString('base64')}`;
  }

  /**
   * Decrypts the stored secret of a webhook; undefined if its key is missing or another webhook's secret was put in its
   * place. Versions before keys stored secrets in plain text.
   * @throws ConfigError where the file with keys cannot be used any more
   */
  decrypt(stored: string, webhookId: string): string | undefined {
    if (stored.startsWith(PREFIX)) return stored;
    const [, keyId, base64 = ''] = ENCRYPTED.exec(stored) ?? [];
    const key = this.#find(keyId);
    if (!key) return undefined;
    const bytes = Buffer.from(base64, 'base64');
    try {
      const decipher = createDecipheriv(CIPHER, key.bytes, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(webhookId))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      const parts = [decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()];
      return PREFIX + Buffer.concat(parts).toString('base64');
    } catch {
      return undefined;
    }
  }

  /** Whether a secret can be decrypted now. */
  canDecrypt(stored: string, webhookId: string): boolean {
    try {
      return this.decrypt(stored, webhookId) !== undefined;
    } catch {
      return false;
    }
  }

  /** Whether a secret is encrypted with the first key. */
  isCurrent(stored: string): boolean {
    const first = this.#first();
    return first !== undefined && ENCRYPTED.exec(stored)?.[1] === first.id;
  }

  /** The first key, which is created if needed. @throws AppError WEBHOOK_SECRETS_OFF */
  #usable(): Key {
    try {
      return this.#first() ?? this.#make();
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      const hint = 'The file of the key that encrypts them cannot be used. The operator sees why by `doctor`.';
      throw new AppError('WEBHOOK_SECRETS_OFF', { hint, cause });
    }
  }

  #first(): Key | undefined {
    return this.#given[0] ?? this.#filed[0] ?? this.#read()[0];
  }

  /** Reads the file again if a key is unknown: another process may have created it. */
  #find(id: string | undefined): Key | undefined {
    const isIt = (key: Key): boolean => key.id === id;
    return this.#given.find(isIt) ?? this.#filed.find(isIt) ?? this.#read().find(isIt);
  }

  #make(): Key {
    if (this.#database === undefined) throw new AppError('WEBHOOK_SECRETS_OFF');
    makeKeyFile(this.#database, `${secureRandomBytes(KEY_BYTES).toString('base64')}\n`);
    const [made] = this.#read();
    return made!;
  }

  #read(): readonly Key[] {
    if (this.#database === undefined) return [];
    const path = keyFileOf(this.#database);
    if (!exists(path)) return [];
    const found = readSecret(path);
    const keys = 'value' in found ? readKeys(found.value) : undefined;
    if (!keys) {
      const fault = 'fault' in found ? found.fault : `holds a value that ${NO_KEYS}`;
      throw new ConfigError(
        `the file of the key of webhooks' secrets, "${path}", ${fault}. Put the key back; if it is lost, move the file away, and let owners replace their secrets`,
      );
    }
    return (this.#filed = keys.map(keyOf));
  }
}

const SECRETS = { id: true, secret: true, oldSecret: true, olderSecrets: true } satisfies Partial<
  Record<keyof WebhookRow, true>
>;

const storedIn = ({ secret, oldSecret, olderSecrets }: Pick<WebhookRow, keyof typeof SECRETS>): string[] =>
  [secret, oldSecret, ...(olderSecrets ?? []).map((one) => one.secret)].filter((stored) => stored !== null);

/** Encrypts a stored secret with the first key if needed; returns it unchanged if it cannot be decrypted. */
const renewed = (secrets: WebhookSecrets, stored: string, webhookId: string): string => {
  if (secrets.isCurrent(stored)) return stored;
  const secret = secrets.decrypt(stored, webhookId);
  return secret === undefined ? stored : secrets.encrypt(secret, webhookId);
};

/** Encrypts secrets that are stored in plain text or with an old key. Returns the number of webhooks. */
export const renewSecrets = async (
  db: Pick<WorkloadPool, 'manager' | 'transaction'>,
  secrets: WebhookSecrets,
  signal?: AbortSignal,
): Promise<number> => {
  if (!secrets.isOn) return 0;
  let count = 0;
  for (const row of await webhooksIn(db).find({ select: SECRETS })) {
    const { id } = row;
    if (storedIn(row).every((stored) => secrets.isCurrent(stored))) continue;
    signal?.throwIfAborted();
    count += await db.transaction(async (tx) => {
      const stored = await webhooksIn(tx).findOne({ select: SECRETS, where: { id }, ...tx.dialect.lockingRows });
      if (!stored) return 0;
      const next = {
        secret: renewed(secrets, stored.secret, id),
        oldSecret: stored.oldSecret && renewed(secrets, stored.oldSecret, id),
        olderSecrets:
          stored.olderSecrets?.map(({ secret, until }) => ({ secret: renewed(secrets, secret, id), until })) ?? null,
      };
      if (storedIn({ id, ...next }).join() === storedIn(stored).join()) return 0;
      await webhooksIn(tx).update({ id }, next);
      return 1;
    });
  }
  return count;
};

/**
 * Removes some replaced secrets that no longer sign: a webhook's last one expires last. Returns whether more remain.
 */
export const sweepSecrets = (db: Pick<WorkloadPool, 'manager' | 'transaction'>, now: Date): Promise<boolean> => {
  const areOver = { oldSecretUntil: LessThan(now) };
  const none = { oldSecret: null, oldSecretUntil: null, olderSecrets: null };
  return sweepFound(
    db,
    (take) => webhooksIn(db).find({ select: { id: true }, where: areOver, take }),
    (tx, rows) => webhooksIn(tx).update({ id: In(rows.map(({ id }) => id)), ...areOver }, none),
  );
};

/** The state of the stored secrets of all webhooks. */
export interface StoredSecrets {
  total: number;
  /** The number that cannot be decrypted. */
  unreadable: number;
  /** The number that are not encrypted with the first key. */
  outdated: number;
}

/** Counts the secrets of all webhooks, without former ones. @throws Error where the file with keys cannot be used */
export const examineSecrets = async (
  db: Pick<WorkloadPool, 'manager'>,
  secrets: WebhookSecrets,
): Promise<StoredSecrets> => {
  const rows = await webhooksIn(db).find({ select: { id: true, secret: true } });
  const unreadable = rows.filter(({ id, secret }) => secrets.decrypt(secret, id) === undefined);
  const outdated = rows.filter(({ secret }) => !secrets.isCurrent(secret));
  return { total: rows.length, unreadable: unreadable.length, outdated: outdated.length };
};

/** The number of webhooks by the key of their secrets: shows for which webhooks the owner of a key can sign. */
export const countByKey = async (
  db: Pick<WorkloadPool, 'manager'>,
): Promise<{ signedBy: (keyIds: readonly string[]) => { signed: number; total: number } }> => {
  const rows = await webhooksIn(db)
    .createQueryBuilder('w')
    .select('SUBSTR(w.secret, 1, 12)', 'prefix')
    .addSelect('COUNT(*)', 'n')
    .groupBy('SUBSTR(w.secret, 1, 12)')
    .getRawMany<{ prefix: string; n: number | string }>();
  const counts = rows.map(({ prefix, n }) => ({ keyId: ENCRYPTED_BY.exec(prefix)?.[1], n: Number(n) }));
  const sum = (some: typeof counts): number => some.reduce((total, { n }) => total + n, 0);
  return {
    signedBy: (keyIds) => ({
      signed: sum(counts.filter(({ keyId }) => keyId === undefined || keyIds.includes(keyId))),
      total: sum(counts),
    }),
  };
};
