import { InvalidArgumentError } from 'commander';
import { currentDate } from '../../../base/runtime.ts';
import { DEFAULT_KEY_DAYS, scopes } from '../../../../contract/index.ts';
import { systemActor } from '../../../auth/audit/log.ts';
import {
  createInvitation,
  listInvitations,
  MAX_INVITATION_DAYS,
  MAX_INVITATIONS,
  revokeInvitation,
} from '../../../user/invitations.ts';
import { lengthOf, listOf, Nickname, parseDuration, textOf } from '../shared/arguments.ts';
import { argument, databaseCommand, defaulted, EXAMPLE_ID, jsonLines, option, required } from '../shared/command.ts';
import { CommandError, PROGRAM } from '../shared/common.ts';
import { note, print, printRows } from '../shared/output.ts';

const MAX_MS = MAX_INVITATION_DAYS * 86_400_000;

const parseOpenTime = (text: string): number => {
  const ms = parseDuration(text);
  if (ms > 0 && ms <= MAX_MS) return ms;
  throw new InvalidArgumentError(`It must be more than 0s and at most ${MAX_INVITATION_DAYS}d.`);
};

const invite = databaseCommand({
  summary: 'invite a person, who gets a user and a key',
  description:
    'Prints an address, nothing else. Its page asks for a name, makes a user and a key, and shows the key once. The ' +
    `address works once. The key lasts ${DEFAULT_KEY_DAYS} days. At most ${MAX_INVITATIONS} invitations are open.`,
  input: {
    scopes: required('<list>', `what the key may do, comma-separated: any of ${scopes.join(', ')}`, listOf(scopes)),
    expires: defaulted(
      '<duration>',
      `how long the address works, at most ${MAX_INVITATION_DAYS}d: 7d, 12h, 45m, 30s`,
      parseOpenTime('7d'),
      { parse: parseOpenTime, shown: '7d' },
    ),
    nickname: option('<text>', `the name that the page suggests, ${lengthOf(Nickname)}`, textOf(Nickname)),
  },
  examples: ['--scopes content:write,user:read', '--scopes user:read --expires 24h --nickname Maru'],
  run: async (db, { scopes: wanted, expires, nickname }, { publicUrl, port }) => {
    const now = currentDate();
    const expiresAt = new Date(now.getTime() + expires);
    const made = await createInvitation(db, { scopes: wanted, expiresAt }, systemActor(now));
    if (!made) {
      throw new CommandError(
        `${MAX_INVITATIONS} invitations are open, the most possible: revoke some with ${PROGRAM} users uninvite.`,
      );
    }
    // A browser does not send the part after `#` with its requests, so no log of a server or a proxy has the token.
    const fragment = new URLSearchParams({ token: made.token, ...(nickname !== undefined && { nickname }) });
    print(`${publicUrl ?? `http://localhost:${port}`}/invitation#${fragment.toString()}`);
    note(`Invitation ${made.id} works once, until ${expiresAt.toISOString()}. Its address is shown only this once.`);
    if (publicUrl === undefined) note('PUBLIC_URL is not set: the address works on this machine alone.');
  },
});

const invitations = databaseCommand({
  summary: 'list invitations',
  description:
    'Lists invitations, oldest first, without their addresses. One is open, used, revoked or expired; times are in UTC.',
  input: { json: jsonLines },
  examples: ['', '--json'],
  run: async (db, { json }) => {
    const found = await listInvitations(db, currentDate());
    const columns = { ID: 'id', STATE: 'state', EXPIRES: 'expiresAt', USER: 'userId' } as const;
    printRows(found, { ...columns, SCOPES: (one) => one.scopes.join(',') }, json);
  },
});

const uninvite = databaseCommand({
  summary: 'revoke an invitation',
  description:
    'Revokes an invitation that is not used: its address no longer works. A used one has made a user and a key.',
  input: { id: argument('<id>', 'the id of the invitation, from `users invitations`') },
  examples: [EXAMPLE_ID],
  run: async (db, { id }) => {
    await revokeInvitation(db, id, systemActor());
    note(`Invitation ${id} is revoked.`);
  },
});

export const invitationCommands = { invite, invitations, uninvite };
