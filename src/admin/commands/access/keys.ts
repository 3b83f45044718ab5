import { counted } from '../../../../contract/text.ts';
import { currentDate } from '../../../base/runtime.ts';
import { KeyName, keyStates, scopes } from '../../../../contract/index.ts';
import { auditEnd, systemActor } from '../../../auth/audit/log.ts';
import { findEndedKeys, sweepKeys } from '../../../auth/key-sweep.ts';
import { createKey, type KeyInfo, listKeys, readKey, revokeKey, rotateKey, stateOf } from '../../../auth/service.ts';
import { readUses } from '../../../consumers/use/store.ts';
import { idOfUser } from '../../../user/service.ts';
import { lengthOf, listOf, parseDuration, parseExpiry, parseStart, textOf } from '../shared/arguments.ts';
import {
  commandGroup,
  databaseCommand,
  defaulted,
  EXAMPLE_ID,
  flag,
  jsonLines,
  option,
  required,
} from '../shared/command.ts';
import { CommandError, PROGRAM } from '../shared/common.ts';
import { calls, keyId, refuseKey, use, usedDays } from './keys-use.ts';
import { note, print, printJsonLines, printObject, printRows } from '../shared/output.ts';

const orNever = (time: Date | null): string => time?.toISOString() ?? 'never';

const create = databaseCommand({
  summary: 'create a key',
  description: 'Creates a key and prints it, nothing else. It is shown only this once, since only its hash is stored.',
  input: {
    user: required('<id>', 'the user that the key belongs to: the id, or a nickname that no other user has'),
    scopes: required('<list>', `what the key may do, comma-separated: any of ${scopes.join(', ')}`, listOf(scopes)),
    name: defaulted('<text>', `what the key is for, ${lengthOf(KeyName)}`, 'unnamed', {
      parse: textOf(KeyName),
      shown: 'unnamed',
    }),
    expires: defaulted(
      '<when>',
      'when the key stops working: a duration in days, hours, minutes or seconds (90d, 12h, 45m, 30s), a date in UTC ' +
        '(2030-12-31), a time (2030-12-31T18:00:00Z), or never',
      parseExpiry('90d'),
      { parse: parseExpiry, shown: '90d' },
    ),
  },
  examples: [
    `--user ${EXAMPLE_ID} --scopes content:write,user:read`,
    '--user Maru --scopes user:read --name laptop --expires never',
  ],
  run: async (db, { user, expires, ...wanted }) => {
    const now = currentDate();
    const expiresAt = expires(now);
    const userId = await idOfUser(db, user);
    const { id, key } = await createKey(db, { ...wanted, userId, expiresAt }, now, systemActor(now));
    print(key);
    note(`Key ${id} expires ${orNever(expiresAt)}. It is shown only this once.`);
  },
});

const printKeys = (keys: readonly KeyInfo[], now: Date, json: boolean): void =>
  printRows(
    keys.map((key) => ({ ...key, state: stateOf(key, now) })),
    {
      ID: 'id',
      PREFIX: 'prefix',
      USER: 'userId',
      STATE: 'state',
      EXPIRES: (key) => orNever(key.expiresAt),
      'LAST USED': (key) => orNever(key.lastUsedAt),
      SCOPES: (key) => key.scopes.join(','),
      NAME: 'name',
    },
    json,
  );

const list = databaseCommand({
  summary: 'list keys',
  description:
    'Lists keys, oldest first. Only their first 12 characters are shown. A key is active, expired or revoked; times ' +
    'are in UTC.',
  input: {
    user: option(
      '<id>',
      'only the keys of this user, by id or by a nickname that no other user has (default: all keys)',
    ),
    unusedSince: option(
      '<when>',
      'only keys that were made and last used before then: a duration ago in days, hours, minutes or seconds (90d, 12h, ' +
        '45m, 30s), a date in UTC (2026-04-01), or a time (2026-04-01T18:00:00Z)',
      parseStart,
    ),
    state: option('<state>', 'only keys in this state', { choices: keyStates }),
    json: jsonLines,
  },
  examples: ['', `--user ${EXAMPLE_ID} --json`, '--state active', '--unused-since 90d'],
  run: async (db, { user, unusedSince, state, json }) => {
    const userId = user === undefined ? undefined : await idOfUser(db, user);
    const now = currentDate();
    printKeys(await listKeys(db, userId, { unusedSince: unusedSince?.(now), state }, now), now, json);
  },
});

const prune = databaseCommand({
  summary: 'delete keys that ended long ago',
  description:
    'Lists the keys that were revoked or expired before a time, as a running service deletes them after ' +
    'AUDIT_RETENTION_DAYS. With --yes, deletes them, a hundred at a time; `audit list` shows what they were and when they ' +
    'were last used. A key that they made by the API counts as made by their makers from then on. A key that the operator ' +
    'made stays while keys descend from it, so that `keys revoke --with-made` finds these. Safe while the service runs, ' +
    'once all its instances are of this version.',
  input: {
    endedBefore: option(
      '<when>',
      'only keys that ended before then: a duration ago in days, hours, minutes or seconds (90d, 12h, 45m, 30s), a date in ' +
        'UTC (2026-04-01), or a time (2026-04-01T18:00:00Z) (default: AUDIT_RETENTION_DAYS ago)',
      parseStart,
    ),
    yes: flag('delete them'),
    json: jsonLines,
  },
  examples: ['', '--ended-before 30d --yes'],
  run: async (db, { endedBefore, yes, json }, { auditRetentionDays }) => {
    const now = currentDate();
    const end = endedBefore?.(now) ?? auditEnd(now, auditRetentionDays);
    if (end > now) throw new CommandError('Only keys that have ended can be deleted: give a time that is over.');
    printKeys(await findEndedKeys(db, end), now, json);
    let deleted = 0;
    for (let n = yes ? 1 : 0; n > 0; deleted += n) n = await sweepKeys(db, end, systemActor());
    if (yes) note(`Deleted ${deleted}.`);
    else note('Nothing was deleted. Delete with the same command and --yes.');
  },
});

const show = databaseCommand({
  summary: 'show a key and how it is used',
  description:
    'Shows a key, never the key itself, when it was last used, and how often it called which operation on which day ' +
    '(UTC). A running service stores what it has counted within ten seconds; counts are kept for 90 days.',
  input: { id: keyId, days: usedDays, json: flag('print a JSON object instead of tables') },
  examples: [EXAMPLE_ID, `${EXAMPLE_ID} --days 7 --json`],
  run: async (db, { id, days, json }) => {
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
    printRows(uses, { DAY: 'day', CALLS: 'n', OPERATION: 'operation' });
  },
});

const revoke = databaseCommand({
  summary: 'revoke a key at once',
  description: 'Revokes a key. Within a second, no instance of the service accepts it any more. This cannot be undone.',
  input: {
    id: keyId,
    withMade: flag('also revoke the keys that it made by the API, and the keys that these made'),
  },
  examples: [EXAMPLE_ID, `${EXAMPLE_ID} --with-made`],
  run: async (db, { id, withMade }) => {
    refuseKey(id);
    const made = await revokeKey(db, id, currentDate(), systemActor(), withMade);
    note(`Key ${id} is revoked.`);
    if (made === 0) return;
    const keys = `${counted(made, 'key')} that it made`;
    if (withMade) note(`Revoked, too: ${keys}.`);
    else note(`Still active: ${keys}. Revoke all with: ${PROGRAM} keys revoke ${id} --with-made`);
  },
});

const rotate = databaseCommand({
  summary: 'replace a key with a new one',
  description:
    'Creates a key with the same user, name, scopes and lifetime as another one and prints it, nothing else. It is ' +
    'shown only this once. The old key goes on working for the overlap, or until it expires if that is sooner.',
  input: {
    id: keyId,
    overlap: defaulted(
      '<duration>',
      'how long the old key goes on working, in days, hours, minutes or seconds: 7d, 12h, 45m, 30s; 0s revokes it at once',
      parseDuration('24h'),
      { parse: parseDuration, shown: '24h' },
    ),
  },
  examples: [`${EXAMPLE_ID} --overlap 7d`],
  run: async (db, { id: oldId, overlap }) => {
    refuseKey(oldId);
    const now = currentDate();
    const { id, key, expiresAt, previousUntil } = await rotateKey(db, oldId, overlap, now, systemActor(now));
    print(key);
    const end = previousUntil.toISOString();
    note(`Key ${id} replaces ${oldId}, which works until ${end} at the latest. It is shown only this once.`);
    note(`Key ${id} expires ${orNever(expiresAt)}.`);
  },
});

export const keysCommand = commandGroup(
  'create, list, show, rotate, revoke and prune API keys, and show who uses what, and what fails',
  'Creates, lists, shows, rotates, revokes and prunes API keys, and shows who uses what.',
  { create, list, show, use, calls, rotate, revoke, prune },
);
