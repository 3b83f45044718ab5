import { Command, Option } from 'commander';
import { currentDate } from '../../../base/runtime.ts';
import { KeyName, type KeyState, keyStates, type Scope, scopes } from '../../../../contract/index.ts';
import { auditEnd, systemActor } from '../../../auth/audit/log.ts';
import { findEndedKeys, sweepKeys } from '../../../auth/key-sweep.ts';
import { createKey, type KeyInfo, listKeys, readKey, revokeKey, rotateKey, stateOf } from '../../../auth/service.ts';
import { KEPT_DAYS, readUses } from '../../../consumers/use/counts.ts';
import { idOfUser } from '../../../user/service.ts';
import {
  type Expiry,
  lengthOf,
  listOf,
  parseDuration,
  parseExpiry,
  parseStart,
  type StartDate,
  textOf,
  wholeNumberUpTo,
} from '../shared/arguments.ts';
import { CommandError, examples, PROGRAM, readSettings, withDatabase } from '../shared/common.ts';
import { callsCommand, keyIdArgument, refuseKey, useCommand } from './keys-use.ts';
import { note, print, printJsonLines, printObject, printTable } from '../shared/output.ts';

const EXAMPLE_ID = '019a3c5e-b150-7e85-9f52-9d40ce61a205';

interface CreateOptions {
  user: string;
  scopes: Scope[];
  name: string;
  expires: Expiry;
}

const create = (): Command =>
  new Command('create')
    .summary('create a key')
    .description(
      'Creates a key and prints it, nothing else. It is shown only this once, since only its hash is stored.',
    )
    .requiredOption('--user <id>', 'the user that the key belongs to: the id, or a nickname that no other user has')
    .requiredOption(
      '--scopes <list>',
      `what the key may do, comma-separated: any of ${scopes.join(', ')}`,
      listOf(scopes),
    )
    .addOption(
      new Option('--name <text>', `what the key is for, ${lengthOf(KeyName)}`)
        .argParser(textOf(KeyName))
        .default('unnamed', 'unnamed'),
    )
    .addOption(
      new Option(
        '--expires <when>',
        'when the key stops working: a duration in days, hours, minutes or seconds (90d, 12h, 45m, 30s), a date in UTC ' +
          '(2030-12-31), a time (2030-12-31T18:00:00Z), or never',
      )
        .argParser(parseExpiry)
        .default(parseExpiry('90d'), '90d'),
    )
    .addHelpText(
      'after',
      examples(
        `keys create --user ${EXAMPLE_ID} --scopes content:write,user:read`,
        `keys create --user Maru --scopes user:read --name laptop --expires never`,
      ),
    )
    .action(({ user, expires, ...wanted }: CreateOptions) =>
      withDatabase(readSettings(), async (db) => {
        const now = currentDate();
        const { id, key } = await createKey(
          db,
          { ...wanted, userId: await idOfUser(db, user), expiresAt: expires(now) },
          now,
          systemActor(now),
        );
        print(key);
        note(`Key ${id} expires ${expires(now)?.toISOString() ?? 'never'}. It is shown only this once.`);
      }),
    );

const orNever = (time: Date | null): string => time?.toISOString() ?? 'never';

const printKeys = (keys: readonly KeyInfo[], { now, json }: { now: Date; json: true | undefined }): void => {
  if (json) {
    printJsonLines(keys.map((key) => ({ ...key, state: stateOf(key, now) })));
    return;
  }
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
};

interface ListOptions {
  user?: string;
  unusedSince?: StartDate;
  state?: KeyState;
  json?: true;
}

const list = (): Command =>
  new Command('list')
    .summary('list keys')
    .description(
      'Lists keys, oldest first. Only their first 12 characters are shown. A key is active, expired or revoked; times ' +
        'are in UTC.',
    )
    .option(
      '--user <id>',
      'only the keys of this user, by id or by a nickname that no other user has (default: all keys)',
    )
    .addOption(
      new Option(
        '--unused-since <when>',
        'only keys that were made and last used before then: a duration ago in days, hours, minutes or seconds (90d, 12h, ' +
          '45m, 30s), a date in UTC (2026-04-01), or a time (2026-04-01T18:00:00Z)',
      ).argParser(parseStart),
    )
    .addOption(new Option('--state <state>', 'only keys in this state').choices(keyStates))
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText(
      'after',
      examples(
        'keys list',
        `keys list --user ${EXAMPLE_ID} --json`,
        'keys list --state active',
        'keys list --unused-since 90d',
      ),
    )
    .action(({ user, unusedSince, state, json }: ListOptions) =>
      withDatabase(readSettings(), async (db) => {
        const userId = user === undefined ? undefined : await idOfUser(db, user);
        const now = currentDate();
        printKeys(await listKeys(db, userId, { unusedSince: unusedSince?.(now), state }, now), { now, json });
      }),
    );

const prune = (): Command =>
  new Command('prune')
    .summary('delete keys that ended long ago')
    .description(
      'Lists the keys that were revoked or expired before a time, as a running service deletes them after ' +
        'AUDIT_RETENTION_DAYS. With --yes, deletes them, a hundred at a time; `audit list` shows what they were and when they ' +
        'were last used. A key that they made by the API counts as made by their makers from then on. A key that the operator ' +
        'made stays while keys descend from it, so that `keys revoke --with-made` finds these. Safe while the service runs, ' +
        'once all its instances are of this version.',
    )
    .addOption(
      new Option(
        '--ended-before <when>',
        'only keys that ended before then: a duration ago in days, hours, minutes or seconds (90d, 12h, 45m, 30s), a date in ' +
          'UTC (2026-04-01), or a time (2026-04-01T18:00:00Z) (default: AUDIT_RETENTION_DAYS ago)',
      ).argParser(parseStart),
    )
    .option('--yes', 'delete them')
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText('after', examples('keys prune', 'keys prune --ended-before 30d --yes'))
    .action(({ endedBefore, yes, json }: { endedBefore?: StartDate; yes?: true; json?: true }) => {
      const config = readSettings();
      return withDatabase(config, async (db) => {
        const now = currentDate();
        const end = endedBefore?.(now) ?? auditEnd(now, config.auditRetentionDays);
        if (end > now) throw new CommandError('Only keys that have ended can be deleted: give a time that is over.');
        printKeys(await findEndedKeys(db, end), { now, json });
        let deleted = 0;
        for (let n = yes ? 1 : 0; n > 0; deleted += n) n = await sweepKeys(db, end, systemActor());
        if (yes) note(`Deleted ${deleted}.`);
        else note('Nothing was deleted. Delete with the same command and --yes.');
      });
    });

const show = (): Command =>
  new Command('show')
    .summary('show a key and how it is used')
    .description(
      'Shows a key, never the key itself, when it was last used, and how often it called which operation on which day ' +
        '(UTC). A running service stores what it has counted within ten seconds; counts are kept for 90 days.',
    )
    .addArgument(keyIdArgument())
    .addOption(
      new Option('--days <number>', 'the uses of so many days, today included')
        .argParser(wholeNumberUpTo(KEPT_DAYS))
        .default(30),
    )
    .option('--json', 'print a JSON object instead of tables')
    .addHelpText('after', examples(`keys show ${EXAMPLE_ID}`, `keys show ${EXAMPLE_ID} --days 7 --json`))
    .action((id: string, { days, json }: { days: number; json?: true }) =>
      withDatabase(readSettings(), async (db) => {
        refuseKey(id);
        const now = currentDate();
        const info = await readKey(db, id);
        const key = { ...info, state: stateOf(info, now) };
        const uses = await readUses(db, id, now, days);
        if (json) {
          printJsonLines([{ ...key, uses }]);
          return;
        }
        printObject(
          {
            ...key,
            scopes: key.scopes.join(','),
            expiresAt: orNever(key.expiresAt),
            lastUsedAt: orNever(key.lastUsedAt),
            lifetimeMs: key.lifetimeMs ?? 'for ever',
          },
          false,
        );
        print('');
        printTable(
          ['DAY', 'CALLS', 'OPERATION'],
          uses.map(({ day, operation, n }) => [day, String(n), operation]),
        );
      }),
    );

const revoke = (): Command =>
  new Command('revoke')
    .summary('revoke a key at once')
    .description(
      'Revokes a key. Within a second, no instance of the service accepts it any more. This cannot be undone.',
    )
    .addArgument(keyIdArgument())
    .option('--with-made', 'also revoke the keys that it made by the API, and the keys that these made')
    .addHelpText('after', examples(`keys revoke ${EXAMPLE_ID}`, `keys revoke ${EXAMPLE_ID} --with-made`))
    .action((id: string, { withMade }: { withMade?: true }) =>
      withDatabase(readSettings(), async (db) => {
        refuseKey(id);
        const made = await revokeKey(db, id, currentDate(), systemActor(), withMade);
        note(`Key ${id} is revoked.`);
        if (made === 0) return;
        const keys = `${made} ${made === 1 ? 'key' : 'keys'} that it made`;
        if (withMade) note(`Revoked, too: ${keys}.`);
        else note(`Still active: ${keys}. Revoke all with: ${PROGRAM} keys revoke ${id} --with-made`);
      }),
    );

const rotate = (): Command =>
  new Command('rotate')
    .summary('replace a key with a new one')
    .description(
      'Creates a key with the same user, name, scopes and lifetime as another one and prints it, nothing else. It is ' +
        'shown only this once. The old key goes on working for the overlap, or until it expires if that is sooner.',
    )
    .addArgument(keyIdArgument())
    .addOption(
      new Option(
        '--overlap <duration>',
        'how long the old key goes on working, in days, hours, minutes or seconds: 7d, 12h, 45m, 30s; 0s revokes it at once',
      )
        .argParser(parseDuration)
        .default(parseDuration('24h'), '24h'),
    )
    .addHelpText('after', examples(`keys rotate ${EXAMPLE_ID} --overlap 7d`))
    .action((oldId: string, { overlap }: { overlap: number }) =>
      withDatabase(readSettings(), async (db) => {
        refuseKey(oldId);
        const now = currentDate();
        const { id, key, expiresAt, previousUntil } = await rotateKey(db, oldId, overlap, now, systemActor(now));
        print(key);
        const end = previousUntil.toISOString();
        note(`Key ${id} replaces ${oldId}, which works until ${end} at the latest. It is shown only this once.`);
        note(`Key ${id} expires ${orNever(expiresAt)}.`);
      }),
    );

export const keysCommand = (): Command =>
  new Command('keys')
    .summary('create, list, show, rotate, revoke and prune API keys, and show who uses what, and what fails')
    .description('Creates, lists, shows, rotates, revokes and prunes API keys, and shows who uses what.')
    .addCommand(create())
    .addCommand(list())
    .addCommand(show())
    .addCommand(useCommand())
    .addCommand(callsCommand())
    .addCommand(rotate())
    .addCommand(revoke())
    .addCommand(prune());
