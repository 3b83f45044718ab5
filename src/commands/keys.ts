import { Argument, Command, Option } from 'commander';
import { line } from '../../contract/text.ts';
import { type Scope, scopes } from '../../contract/index.ts';
import { readConfig } from '../config.ts';
import { displayPrefix, isWellFormedKey } from '../key/format.ts';
import { createKey, type KeyInfo, listKeys, revokeKey, rotateKey } from '../key/service.ts';
import { readUser } from '../user/service.ts';
import { type Expiry, lengthOf, listOf, parseDuration, parseExpiry, textOf } from './arguments.ts';
import { CommandError, examples, PROGRAM, withDatabase } from './common.ts';
import { note, print, printJsonLines, printTable } from './output.ts';

const EXAMPLE_ID = '019a3c5e-b150-7e85-9f52-9d40ce61a205';
const KeyName = line(1, 100);

const keyIdArgument = (): Argument => new Argument('<id>', 'the id of the key, from `keys list`; not the key itself');

/** Who has a leaked key at hand may well paste it where its id belongs. */
const refuseKey = (id: string): void => {
  if (!isWellFormedKey(id)) return;
  throw new CommandError(`This is a key, not its id. Find the id beside ${displayPrefix(id)} in: ${PROGRAM} keys list`);
};

interface CreateOptions {
  user: string;
  scopes: Scope[];
  name: string;
  expires: Expiry;
}

const create = (): Command =>
  new Command('create')
    .summary('issue a key')
    .description('Issues a key and prints it alone. It is shown only this once: only its hash is stored.')
    .requiredOption('--user <id>', 'the id of the user it belongs to')
    .requiredOption('--scopes <list>', `what it allows, comma-separated, out of ${scopes.join(', ')}`, listOf(scopes))
    .addOption(
      new Option('--name <text>', `what it is for, ${lengthOf(KeyName)}`)
        .argParser(textOf(KeyName))
        .default('unnamed', 'unnamed'),
    )
    .addOption(
      new Option(
        '--expires <when>',
        'when it stops working: a duration in days, hours, minutes or seconds (90d, 12h, 45m, 30s), a date in UTC ' +
          '(2030-12-31), a time (2030-12-31T18:00:00Z), or never',
      )
        .argParser(parseExpiry)
        .default(parseExpiry('90d'), '90d'),
    )
    .addHelpText(
      'after',
      examples(
        `keys create --user ${EXAMPLE_ID} --scopes content:write,user:read`,
        `keys create --user ${EXAMPLE_ID} --scopes user:read --name laptop --expires never`,
      ),
    )
    .action(({ user, expires, ...wanted }: CreateOptions) =>
      withDatabase(readConfig(), async (db) => {
        const now = new Date();
        const { id, key } = await createKey(db, { ...wanted, userId: user, expiresAt: expires(now) }, now);
        print(key);
        note(`Key ${id} expires ${expires(now)?.toISOString() ?? 'never'}. It is shown only now.`);
      }),
    );

const stateOf = ({ revokedAt, expiresAt }: KeyInfo, now: Date): 'active' | 'expired' | 'revoked' => {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'active';
};

const orNever = (time: Date | null): string => time?.toISOString() ?? 'never';

const printKeys = (keys: readonly KeyInfo[], now: Date): void =>
  printTable(
    ['ID', 'PREFIX', 'USER', 'STATE', 'EXPIRES', 'LAST USED', 'SCOPES', 'NAME'],
    keys.map((key) => [
      key.id,
      key.prefix,
      key.userId,
      stateOf(key, now),
      orNever(key.expiresAt),
      orNever(key.lastUsedAt),
      key.scopes.join(','),
      key.name,
    ]),
  );

const list = (): Command =>
  new Command('list')
    .summary('list keys')
    .description(
      'Lists keys, oldest first, never the keys themselves but their first 12 characters. A key is active, expired or ' +
        'revoked; times are UTC.',
    )
    .option('--user <id>', 'only the keys of this user (default: all keys)')
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText('after', examples('keys list', `keys list --user ${EXAMPLE_ID} --json`))
    .action(({ user, json }: { user?: string; json?: true }) =>
      withDatabase(readConfig(), async (db) => {
        if (user !== undefined) await readUser(db, user);
        const keys = await listKeys(db, user);
        const now = new Date();
        if (json) printJsonLines(keys.map((key) => ({ ...key, state: stateOf(key, now) })));
        else printKeys(keys, now);
      }),
    );

const revoke = (): Command =>
  new Command('revoke')
    .summary('end a key at once')
    .description('Ends a key: within a second no instance of the service takes it any more. This cannot be undone.')
    .addArgument(keyIdArgument())
    .addHelpText('after', examples(`keys revoke ${EXAMPLE_ID}`))
    .action((id: string) =>
      withDatabase(readConfig(), async (db) => {
        refuseKey(id);
        await revokeKey(db, id, new Date());
        note(`Key ${id} is revoked.`);
      }),
    );

const rotate = (): Command =>
  new Command('rotate')
    .summary('replace a key by a new one')
    .description(
      'Issues a key with the user, name, scopes and lifetime of another one, and prints it alone. It is shown only ' +
        'this once. The old key works on for the overlap, or until it expires if that is sooner.',
    )
    .addArgument(keyIdArgument())
    .addOption(
      new Option(
        '--overlap <duration>',
        'how long the old key works on, in days, hours, minutes or seconds: 7d, 12h, 45m, 30s; 0s ends it at once',
      )
        .argParser(parseDuration)
        .default(parseDuration('24h'), '24h'),
    )
    .addHelpText('after', examples(`keys rotate ${EXAMPLE_ID} --overlap 7d`))
    .action((oldId: string, { overlap }: { overlap: number }) =>
      withDatabase(readConfig(), async (db) => {
        refuseKey(oldId);
        const now = new Date();
        const { id, key } = await rotateKey(db, oldId, overlap, now);
        print(key);
        const end = new Date(now.getTime() + overlap).toISOString();
        note(`Key ${id} replaces ${oldId}, which works until ${end} at the latest. It is shown only now.`);
      }),
    );

export const keysCommand = (): Command =>
  new Command('keys')
    .summary('issue, list, rotate and revoke API keys')
    .description('Issues, lists, rotates and revokes API keys.')
    .addCommand(create())
    .addCommand(list())
    .addCommand(rotate())
    .addCommand(revoke());
