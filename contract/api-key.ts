import { z } from 'zod';
import { Id, Timestamp, wholeNumber } from './common.ts';
import { exampleApiKey, exampleFailedCall } from './examples.ts';
import {
  DEFAULT_KEY_DAYS,
  DEFAULT_USE_DAYS,
  FAILED_CALL_HOURS,
  lengths,
  MAX_FAILED_CALLS,
  MAX_KEY_DAYS,
  MAX_KEY_PAGE,
  MAX_KEYS,
  MAX_OVERLAP_HOURS,
  MAX_USE_DAYS,
  ROTATION_HOURS,
} from './limits.ts';
import { procedure, router, Scope, scopes } from './procedure.ts';
import { keyless, line } from './text.ts';

export const keyStates = ['active', 'expired', 'revoked'] as const;
export type KeyState = (typeof keyStates)[number];

export const KeyName = keyless(line(1, lengths.keyName));

const State = z.enum(keyStates).meta({
  id: 'ApiKeyState',
  description:
    '`active`: calls with the key are accepted, unless its user is suspended. `expired` and `revoked`: they are refused.',
});

const keyMembers = {
  id: z.string().describe('The id of the key, not the key itself'),
  prefix: z.string().describe('The first characters of the key, which tell it from others'),
  name: z.string().describe('The name of the key'),
  scopes: z.array(Scope).describe('The scopes that the key holds'),
  state: State,
  expiresAt: Timestamp.nullable().describe('When it stops working, or did; null for never'),
  revokedAt: Timestamp.nullable().describe('When it was revoked; null if it was not'),
  lastUsedAt: Timestamp.nullable().describe('When it was last used, to within seconds; null if it was not'),
  createdAt: Timestamp.describe('When it was made'),
  madeBy: z.string().nullable().describe('The id of the key that made it; null where the operator did'),
};

const OwnApiKey = z
  .object(keyMembers)
  .meta({ id: 'OwnApiKey', description: 'A key of the user. The key itself is not shown.' });

const Secret = z
  .string()
  .nullable()
  .describe(
    'The key itself, to be sent as a credential. It is shown only this once: store it. Null in the answer to a repetition',
  );

const ApiKeyWithSecret = z
  .object({ ...keyMembers, secret: Secret })
  .meta({ id: 'ApiKeyWithSecret', description: 'A key that was just made, with the key itself.' });

const RotatedApiKey = z
  .object({ ...keyMembers, secret: Secret, previousUntil: Timestamp.describe('When the replaced key stops working') })
  .meta({ id: 'RotatedApiKey', description: 'A key that was just made in place of another one, with the key itself.' });

const RevokedApiKey = z
  .object({
    ...keyMembers,
    madeActive: wholeNumber(0, MAX_KEYS).describe(
      'The number of keys that it made, or that these made, which still work',
    ),
  })
  .meta({ id: 'RevokedApiKey', description: 'A key that was revoked.' });

const Day = z.string().regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/);
const IsDeprecated = z.boolean().describe('Whether it will go');

const PartUse = z
  .object({
    name: z.string().describe('Its name'),
    lastDay: Day.describe('The last day, in UTC, on which it was used'),
    isDeprecated: IsDeprecated,
  })
  .meta({
    id: 'PartUse',
    description:
      'A member of an input, a word of the contract in one, a header or a client, and when it was last used.',
  });

const OperationUse = z
  .object({
    operation: z.string().describe('The operation, such as `game.list`'),
    lastDay: Day.describe('The last day, in UTC, on which it was called'),
    isDeprecated: IsDeprecated,
    parts: z
      .array(PartUse)
      .describe(
        'The members of the input that were sent (`/sortBy`), the words of the contract in them (`/sortBy=latest`), and `Idempotency-Key` if that was sent',
      ),
  })
  .meta({ id: 'OperationUse', description: 'An operation that was called, and what was sent to it.' });

const FailedCall = z
  .object({
    requestId: z.string().describe('The reply header `X-Request-Id`'),
    operation: z.string().describe('The operation that was called'),
    at: Timestamp.describe('When it failed'),
    status: z.int().describe('The HTTP status of the failure'),
    reason: z.string().describe('The reason of the failure, as the reply had it'),
    issues: z
      .array(
        z
          .object({
            path: z.string().describe('JSON pointer (RFC 6901) into `json`'),
            code: z.string().describe('The kind of the fault'),
          })
          .meta({ id: 'ApiKeyFailedCallIssue', description: 'The place and the kind of a fault.' }),
      )
      .describe('The first faults of the input, with reason `VALIDATION_FAILED`'),
  })
  .meta({ id: 'ApiKeyFailedCall', description: 'A call that failed.' });

const IsRecorded = z.boolean().describe('Whether this service records it; if not, the lists are empty');
const anyKey = { id: Id.optional().describe('The id of a key of the user; by default, of the key in use') };
const oneKey = { id: Id.describe('The id of a key of the user') };
const name = KeyName.describe('The purpose of the key, in a few words');

/** The advice for a caller who has lost the answer that held the key. */
const REPETITION = (call: string): string =>
  `A repetition with the same \`Idempotency-Key\` is answered without the key itself: where the first answer was lost, revoke what was made, and ${call}.`;

const { id: exampleId } = exampleApiKey;
const exampleSecret = 'cgk_exampleDoNotUse';
const madeBy = '019a3c5e-b150-7e85-9f52-9d40ce61a205';
const newKey = { ...exampleApiKey, id: '019a3c5e-c261-7f96-8063-ae50df72b307', lastUsedAt: null, madeBy };

export const apiKey = router('apiKey', {
  list: procedure({
    summary: 'List API keys',
    description: 'Lists the keys of the user of the API key, the latest first. The keys themselves are not shown.',
    access: 'user:read',
    effect: 'read',
    input: z.strictObject({
      before: Id.optional().describe('Only keys before this one: the id of the last one that you got'),
      limit: wholeNumber(1, MAX_KEY_PAGE).default(MAX_KEY_PAGE).describe('The most keys to return'),
    }),
    output: z.object({
      items: z.array(OwnApiKey).describe('The keys, the latest first'),
      hasMore: z.boolean().describe('Whether there are more'),
    }),
    errors: [],
    example: { input: { limit: MAX_KEY_PAGE }, output: { items: [exampleApiKey], hasMore: false } },
  }),

  usage: procedure({
    summary: 'Read how a key is used',
    description:
      'Tells which operations were called with a key, which members of the input were sent, which words of the contract were in them, by which clients, and the last day of each: what a change of the API would concern. No other value is recorded. The figures are some seconds behind.',
    access: 'user:read',
    effect: 'read',
    input: z.strictObject({
      ...anyKey,
      days: wholeNumber(1, MAX_USE_DAYS)
        .default(DEFAULT_USE_DAYS)
        .describe('The number of days whose uses are listed, today included'),
    }),
    output: z.object({
      isRecorded: IsRecorded,
      clients: z
        .array(PartUse)
        .describe('The clients that sent the key: the first product of each `User-Agent`, and the contract of an SDK'),
      operations: z.array(OperationUse).describe('The operations that were called'),
    }),
    errors: ['API_KEY_NOT_FOUND'],
    example: {
      input: { days: DEFAULT_USE_DAYS },
      output: {
        isRecorded: true,
        clients: [{ name: 'curl/8.5.0', lastDay: '2025-11-01', isDeprecated: false }],
        operations: [
          {
            operation: 'game.list',
            lastDay: '2025-11-01',
            isDeprecated: false,
            parts: [{ name: '/limit', lastDay: '2025-11-01', isDeprecated: false }],
          },
        ],
      },
    },
  }),

  calls: procedure({
    summary: 'List failed calls',
    description: `Lists the last ${MAX_FAILED_CALLS} calls with a key that failed within ${FAILED_CALL_HOURS} hours, the latest first, or those of one request: why was it refused? Neither bodies nor values are recorded. A call that was refused before its key was accepted is not listed.`,
    access: 'user:read',
    effect: 'read',
    input: z.strictObject({
      ...anyKey,
      requestId: line(1, lengths.requestId)
        .optional()
        .describe('Only calls of this request: its reply header `X-Request-Id`'),
    }),
    output: z.object({
      isRecorded: IsRecorded,
      items: z.array(FailedCall).describe('The calls that failed, the latest first'),
    }),
    laws: ['logs'],
    errors: ['API_KEY_NOT_FOUND'],
    example: { input: {}, output: { isRecorded: true, items: [exampleFailedCall] } },
  }),

  create: procedure({
    summary: 'Create an API key',
    description: `Makes a key of the same user. It holds no scope that the key in use lacks, and ends with that key at the latest: see \`expiresAt\`. ${REPETITION('make another one')} A user makes keys while fewer than ${MAX_KEYS} are active.`,
    access: 'key:write',
    effect: 'write',
    input: z.strictObject({
      name,
      scopes: z.array(Scope).min(1).max(scopes.length).describe('The scopes that the key is to hold'),
      expiresInDays: wholeNumber(1, MAX_KEY_DAYS)
        .default(DEFAULT_KEY_DAYS)
        .describe('The days for which the key is to work, unless the key in use stops sooner'),
    }),
    output: ApiKeyWithSecret,
    laws: ['lists'],
    errors: ['API_KEY_WIDER', 'API_KEY_LIMIT'],
    example: {
      input: { name: 'nightly import', scopes: ['content:write'], expiresInDays: DEFAULT_KEY_DAYS },
      output: { ...newKey, name: 'nightly import', scopes: ['content:write'], secret: exampleSecret },
    },
  }),

  rename: procedure({
    summary: 'Rename an API key',
    description: 'Gives a key of the user another name.',
    access: 'key:write',
    effect: 'write',
    input: z.strictObject({ ...oneKey, name }),
    output: OwnApiKey,
    laws: ['changes'],
    errors: ['API_KEY_NOT_FOUND'],
    example: { input: { id: exampleId, name: 'laptop' }, output: { ...exampleApiKey, name: 'laptop' } },
  }),

  rotate: procedure({
    summary: 'Replace an API key',
    description: `Makes a key with the name, scopes and lifetime of another one, which works on for the overlap, or until it expires. The key in use must hold all its scopes. Unless it replaces itself, the new key ends with it at the latest: see \`expiresAt\`. ${REPETITION('call `apiKey.rotate` again')}`,
    access: 'key:write',
    effect: 'write',
    input: z.strictObject({
      ...oneKey,
      overlapHours: wholeNumber(0, MAX_OVERLAP_HOURS)
        .default(ROTATION_HOURS)
        .describe('The hours for which the old key works on; 0 ends it at once'),
    }),
    output: RotatedApiKey,
    laws: ['rotates'],
    errors: ['API_KEY_NOT_FOUND', 'API_KEY_WIDER', 'API_KEY_ENDED', 'API_KEY_LIMIT'],
    example: {
      input: { id: exampleId, overlapHours: ROTATION_HOURS },
      output: { ...newKey, secret: exampleSecret, previousUntil: '2025-11-02T09:30:00.000Z' },
    },
  }),

  revoke: procedure({
    summary: 'Revoke an API key',
    description:
      'Ends a key of the user, perhaps the key in use itself. Within a second, it is accepted nowhere. This cannot be undone; to revoke a key again changes nothing. For a key that others may hold, send `withMade`: they may have made keys with it.',
    access: 'key:write',
    effect: 'write',
    input: z.strictObject({
      ...oneKey,
      withMade: z
        .boolean()
        .default(false)
        .describe('Whether the keys that it made are revoked, too, and the keys that these made'),
    }),
    output: RevokedApiKey,
    laws: ['revokes'],
    errors: ['API_KEY_NOT_FOUND'],
    example: {
      input: { id: exampleId, withMade: true },
      output: { ...exampleApiKey, state: 'revoked', revokedAt: '2025-11-01T09:30:00.000Z', madeActive: 0 },
    },
  }),
});
