import {
  idempotencyKey,
  lengths,
  MAX_PAGE_DEPTH,
  MAX_SIGNING_SECRETS,
  MAX_PAGE_SIZE,
  type Reason,
  type Scope,
} from '../../../../contract/index.ts';
import { type Check, checkOf, WITHHELD } from '../check.ts';
import type { Request } from '../exchange.ts';
import { demandThat, expectFailure } from '../findings/expect.ts';
import { show, Skip } from '../findings/finding.ts';
import type { Operation } from '../contract/operation.ts';
import { inputMembers } from '../contract/places.ts';
import { isMarked, type ListedPage, type RecordSummary, TAG } from '../records.ts';
import type { VerifySession } from '../session.ts';
import { mismatchChecks } from './repetition.ts';
import { inputChecks } from './input.ts';

/** Reasons that requests from outside cannot cause, and why. Checks still examine replies with them. */
export const unprovoked = {
  KEY_EXPIRED: 'needs an expired key',
  KEY_REVOKED: 'needs a revoked key',
  USER_SUSPENDED: 'needs a suspended user',
  RATE_LIMITED: 'is waited out when it occurs',
  QUOTA_EXCEEDED: 'needs thousands of new tags',
  BAD_HTTP_REQUEST: 'may be answered by a proxy in front',
  HEADERS_TOO_LARGE: 'may be answered by a proxy in front',
  REQUEST_TIMEOUT: 'may be answered by a proxy in front',
  ANSWER_TOO_LARGE: 'needs many megabytes of records',
  WEBHOOK_LIMIT: 'needs as many webhooks as a user may have',
  API_KEY_LIMIT: 'needs as many keys as a user may make',
  API_KEY_WIDER: 'needs a key that lacks a scope',
  CONTRACT_LIMIT: 'needs as many contracts as a user may have',
  IDEMPOTENCY_GONE: 'needs a record that was removed',
  EVENTS_GONE: 'needs a cursor older than the events that are kept',
  EVENTS_OFF: 'depends on the settings of the deployment',
  WEBHOOK_SECRETS_OFF: 'depends on the settings of the deployment',
  IDEMPOTENCY_IN_PROGRESS: 'needs two simultaneous requests',
  OVERLOADED: 'depends on the state of the deployment',
  MAINTENANCE: 'depends on the state of the deployment',
  DATABASE_UNAVAILABLE: 'depends on the state of the deployment',
  TIMEOUT: 'depends on the state of the deployment',
  OUTCOME_UNKNOWN: 'depends on the state of the deployment',
  INTERNAL: 'depends on the state of the deployment',
} as const satisfies Partial<Record<Reason, string>>;

/** Reasons of requests that are for no operation: `service.ts` causes them, except those of invitations. */
type ServiceReason = 'ROUTE_NOT_FOUND' | 'BATCH_TOO_LARGE' | `INVITATION_${string}`;

/** A request that must be refused. */
interface Attempt {
  /** The name of its check. */
  name: string;
  request: Request | (() => Promise<Request>);
  /** The path of the request if not the operation's; the operation then cannot be named. */
  path?: string;
  /** Whether to send it without the key; it then needs no scope. */
  anonymous?: boolean;
  /** The scopes without which the service would give another reason first. */
  needs?: readonly Scope[];
}

type Attempts = (operation: Operation, session: VerifySession) => Attempt[];

/** The number of pages to search for a record of another author. */
const MAX_PAGES = 10;
const NO_JSON = '{"json":';
/** A URL with a port that no operator allows. */
const FORBIDDEN_URL = 'https://hooks.example.com:1/';

const bodyOf = (json: unknown): string => JSON.stringify({ json });
const exampleBody = ({ example }: Operation): string => bodyOf(example.input);

/** An input that would change nothing even if accepted. */
const harmlessInput = (operation: Operation, id: string): unknown => {
  const required = inputMembers(operation).flatMap((member) => (member.required ? [[member.name, member.sample]] : []));
  return { ...Object.fromEntries(required), [operation.idMember ?? 'id']: id };
};

/**
 * The id of one of the latest records that another author published. If a faulty service could lose it, it is one that
 * a run of the kit made.
 * @throws Skip if none exists
 */
const ofAnotherAuthor = async (operation: Operation, session: VerifySession): Promise<string> => {
  const { author: me } = await session.records.record(operation);
  const isAtRisk = operation.laws.includes('deletes');
  const isUsable = (one: RecordSummary): boolean => one.author.id !== me.id && (!isAtRisk || isMarked(one));
  const sample = (await session.records.samples(operation)).find(isUsable);
  if (sample) return sample.id;
  const filter = isAtRisk ? { tagSlugs: [TAG] } : {};
  const list = session.partner(operation, 'list');
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const { items, hasMore } = await session.prepare<ListedPage>(list, { limit: MAX_PAGE_SIZE, page, ...filter });
    const record = items.find(isUsable);
    if (record) return record.id;
    if (!hasMore) break;
  }
  const which = isAtRisk ? 'records of runs' : 'records';
  throw new Skip(`none of the latest ${MAX_PAGES * MAX_PAGE_SIZE} ${which} is of another author`);
};

/** A cursor for all records, with other filters. @throws Skip */
const foreignCursor = async (operation: Operation, session: VerifySession): Promise<Request> => {
  const { nextCursor } = await session.prepare<ListedPage>(operation, { limit: 1, page: 1 });
  if (nextCursor === null) throw new Skip('there are not enough records for a second page');
  return { body: bodyOf({ limit: 1, page: 1, cursor: nextCursor, search: session.random.run }) };
};

/** Ids without a record. The last one is at the limit in code points, and above it in UTF-16 units. */
const unknownIds: Attempts = ({ example, idMember }, session) =>
  Object.entries({
    'an id that nothing has': session.random.uuid('nothing'),
    'an id of another form': 'no such id',
    [`an id of ${lengths.id} characters`]: '𠮷'.repeat(lengths.id),
  }).flatMap(([what, id]) => {
    if (idMember === undefined) return [];
    const body = bodyOf({ ...session.records.marked(example.input), [idMember]: id });
    return [{ name: `refuses ${what}`, request: { body } }];
  });

/** The attempts for each reason that one request can cause. */
const attempts = {
  PROCEDURE_NOT_FOUND: (operation) => {
    const { path, name } = operation;
    return [`${path}/`, path.slice(0, -name.length) + name.toUpperCase()].map((other) => ({
      name: `is not found at ${other}`,
      request: { body: exampleBody(operation) },
      path: other,
      needs: [],
    }));
  },
  METHOD_NOT_SUPPORTED: ({ effect }) =>
    ['PUT', 'DELETE', ...(effect === 'write' ? ['GET'] : [])].map((method) => ({
      name: `refuses ${method}`,
      request: { method },
      needs: [],
    })),
  UNSUPPORTED_MEDIA_TYPE: (operation) =>
    ['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=utf-16'].map((type) => ({
      name: `refuses ${type}`,
      request: { body: exampleBody(operation), headers: { 'Content-Type': type } },
      needs: [],
    })),
  KEY_MISSING: (operation) => [
    { name: 'refuses a call without a key', request: { body: exampleBody(operation) }, anonymous: true },
    {
      name: 'refuses a call without a key before it looks at the body',
      request: { body: NO_JSON },
      anonymous: true,
    },
  ],
  KEY_MALFORMED: (operation) =>
    ['Bearer no-key', 'Basic dXNlcjpwYXNzd29yZA=='].map((authorization) => ({
      name: `refuses \`${authorization}\``,
      request: { body: exampleBody(operation), headers: { Authorization: authorization } },
      needs: [],
    })),
  KEY_UNKNOWN: (operation, { caller }) => [
    {
      name: 'refuses a key that was never issued',
      request: { body: exampleBody(operation), headers: { Authorization: `Bearer ${caller.unknownKey}` } },
      needs: [],
    },
  ],
  PAYLOAD_TOO_LARGE: ({ bodyLimit }) => [
    {
      name: `refuses a body of ${bodyLimit + 1} bytes`,
      request: async () => ({ body: bodyOf({ unknownMember: 1 }).padEnd(bodyLimit + 1) }),
    },
  ],
  MALFORMED_JSON: () => [
    { name: 'refuses JSON that is cut short', request: { body: NO_JSON } },
    { name: 'refuses what is no JSON', request: { body: 'limit=1&page=1' } },
  ],
  PAGE_TOO_DEEP: ({ example }) => [
    {
      name: `refuses page ${MAX_PAGE_DEPTH + 1} of 1 record each`,
      request: { body: bodyOf({ ...example.input, page: MAX_PAGE_DEPTH + 1, limit: 1 }) },
    },
  ],
  CURSOR_INVALID: (operation, session) => {
    const pages = session.lists.includes(operation);
    const made = pages ? { limit: 1, page: 1, cursor: 'no-cursor' } : { after: 'no-cursor' };
    return [
      { name: 'refuses a cursor of its own making', request: { body: bodyOf(made) } },
      ...(pages
        ? [{ name: 'refuses a cursor of other filters', request: () => foreignCursor(operation, session) }]
        : []),
    ];
  },
  NOT_OWNER: (operation, session) => [
    {
      name: 'refuses a record of another author',
      request: async () => ({ body: bodyOf(harmlessInput(operation, await ofAnotherAuthor(operation, session))) }),
    },
  ],
  IDEMPOTENCY_KEY_INVALID: (operation) =>
    [`${'k'.repeat(idempotencyKey.maxLength)}k`, 'clé'].map((key) => ({
      name: `refuses the ${idempotencyKey.name} ${show(key)}`,
      request: { body: exampleBody(operation), headers: { [idempotencyKey.name]: key } },
    })),
  WEBHOOK_URL_FORBIDDEN: ({ example }) => [
    { name: `refuses ${FORBIDDEN_URL}`, request: { body: bodyOf({ ...example.input, url: FORBIDDEN_URL }) } },
  ],
  CONTRACT_UNKNOWN: (_, { things: { contractInput: input } }) => [
    {
      name: 'refuses a contract tested with no version',
      request: { body: bodyOf({ ...input, contract: { ...input.contract, contract: 'none' } }) },
    },
  ],
  WEBHOOK_NOT_ACTIVE: (_, { things }) => [
    {
      name: 'refuses a webhook that is paused',
      request: async () => ({ body: bodyOf({ id: (await things.pausedWebhook()).id }) }),
    },
  ],
  WEBHOOK_SECRET_LIMIT: (_, { things }) => [
    {
      name: `refuses a webhook of which ${MAX_SIGNING_SECRETS} secrets sign`,
      request: async () => ({ body: bodyOf({ id: (await things.rotatedWebhook()).id }) }),
    },
  ],
  API_KEY_ENDED: (_, { things }) => [
    {
      name: 'refuses a key that is revoked',
      request: async () => ({ body: bodyOf({ id: (await things.endedKey()).id }) }),
    },
  ],
} satisfies Partial<Record<Reason, Attempts>>;

/** A key without the scope of an operation. */
const missingScope = (operation: Operation, session: VerifySession): Check[] => {
  const { id, access, example } = operation;
  const run = async (): Promise<void> => {
    if (session.caller.key === undefined) throw new Skip('it needs a key');
    if (session.isWithheld(access)) throw new Skip(WITHHELD);
    if (session.can(access)) throw new Skip(`it needs a key without ${access}`);
    const reply = await session.post(operation, example.input);
    const { hint = '' } = expectFailure(reply, 'SCOPE_MISSING', id);
    const finding = { expected: `a hint at ${access}`, came: show(hint), at: '/error/json/data/hint' };
    demandThat(hint.includes(access), reply, finding);
  };
  return [{ ...checkOf(operation, 'SCOPE_MISSING', 'refuses a key without its scope', run), needs: [] }];
};

type Provoked = Exclude<Reason, keyof typeof unprovoked | ServiceReason | `${string}_NOT_FOUND`>;
/** The checks of the other reasons. */
const others: Record<Exclude<Provoked, keyof typeof attempts>, typeof missingScope> = {
  SCOPE_MISSING: missingScope,
  VALIDATION_FAILED: inputChecks,
  IDEMPOTENCY_MISMATCH: mismatchChecks,
};

const isNotFound = (reason: Reason): boolean => reason.endsWith('_NOT_FOUND');

/**
 * Whether checks can cause a reason. An operation without an id cannot search for a missing record: whether it finds
 * one depends on the records.
 */
export const canBeProvoked = ({ idMember }: Operation, reason: Reason): boolean =>
  !Object.hasOwn(unprovoked, reason) && (idMember !== undefined || !isNotFound(reason));

/** The refusals on any path; the contract lists them for all operations. */
const ofEveryPath = ['PROCEDURE_NOT_FOUND', 'METHOD_NOT_SUPPORTED'] as const satisfies readonly Reason[];

const attemptsFor = (reason: Reason): Attempts =>
  (attempts as Partial<Record<Reason, Attempts>>)[reason] ?? (isNotFound(reason) ? unknownIds : () => []);

/** A check for each refusal that an operation documents and a client can cause. */
export const refusalChecks = (operation: Operation, session: VerifySession): Check[] =>
  [...ofEveryPath, ...operation.reasons].flatMap((reason) => [
    ...((others as Partial<typeof others>)[reason as keyof typeof others]?.(operation, session) ?? []),
    ...attemptsFor(reason)(operation, session).map(
      ({ name, request, path = operation.path, anonymous = false, needs = operation.needs }): Check => ({
        ...checkOf(operation, reason, name, async () => {
          const sent = typeof request === 'function' ? await request() : request;
          const reply = await session.send({ ...operation, path }, sent, { anonymous });
          expectFailure(reply, reason, path === operation.path ? operation.id : null);
        }),
        needs: anonymous ? [] : needs,
      }),
    ),
  ]);
