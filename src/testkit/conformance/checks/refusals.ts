import {
  idempotencyKey,
  lengths,
  MAX_PAGE_DEPTH,
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
import type { ListedPage, VerifySession } from '../session.ts';
import { mismatchChecks } from './write/idempotency.ts';
import { inputChecks } from './input.ts';

/** Reasons that cannot be brought about from outside, and why. The replies are checked where they come all the same. */
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

/** Reasons of requests that are for no operation: `service.ts` provokes them. */
type ServiceReason = 'ROUTE_NOT_FOUND' | 'BATCH_TOO_LARGE';

/** The checks that provoke a reason. */
type Provocation = (operation: Operation, session: VerifySession) => Check[];

/** How far to look for a record of another author. */
const MAX_PAGES = 10;
const NO_JSON = '{"json":';

interface RefusedAttempt {
  /** The refused input, for the name: `refuses …`. */
  title: string;
  request: Request | (() => Promise<Request>);
  /** Whether to send it without the key, which then needs no scope. */
  anonymous?: boolean;
  /** The scopes without which another reason would come first. */
  needs?: readonly Scope[];
}

/** Checks that an operation refuses requests for a reason. */
const refused =
  (reason: Reason, attempts: (operation: Operation, session: VerifySession) => RefusedAttempt[]): Provocation =>
  (operation, session) =>
    attempts(operation, session).map(({ title, request, anonymous = false, needs = operation.needs }) => ({
      ...checkOf(operation, reason, `refuses ${title}`, async () => {
        const sent = typeof request === 'function' ? await request() : request;
        expectFailure(await session.send(operation, sent, { anonymous }), reason, operation.id);
      }),
      needs: anonymous ? [] : needs,
    }));

const bodyOf = (json: unknown): string => JSON.stringify({ json });
const exampleBody = ({ example }: Operation): string => bodyOf(example.input);

/** A faulty body of exactly `bytes` bytes. */
const padded = (bytes: number): string => bodyOf({ unknownMember: 1 }).padEnd(bytes);

const tooLarge = refused('PAYLOAD_TOO_LARGE', ({ bodyLimit }) => [
  { title: `a body of ${bodyLimit + 1} bytes`, request: async () => ({ body: padded(bodyLimit + 1) }) },
]);

const largeBodies: Provocation = (operation, session) => {
  const { id, bodyLimit } = operation;
  const largest = checkOf(operation, 'form', `reads a body of ${bodyLimit} bytes`, async () => {
    expectFailure(await session.send(operation, { body: padded(bodyLimit) }), 'VALIDATION_FAILED', id);
  });
  return [largest, ...tooLarge(operation, session)];
};

const missingScope: Provocation = (operation, session) => {
  const { id, access } = operation;
  const run = async (): Promise<void> => {
    if (session.caller.key === undefined) throw new Skip('it needs a key');
    if (session.isWithheld(access)) throw new Skip(WITHHELD);
    if (session.can(access)) throw new Skip(`it needs a key without ${access}`);
    const reply = await session.send(operation, { body: exampleBody(operation) });
    const { hint = '' } = expectFailure(reply, 'SCOPE_MISSING', id);
    const finding = { expected: `a hint at ${access}`, came: show(hint), at: '/error/json/data/hint' };
    demandThat(hint.includes(access), reply, finding);
  };
  return [{ ...checkOf(operation, 'SCOPE_MISSING', 'refuses a key without its scope', run), needs: [] }];
};

/** Ids without a record. The last one is at the limit in code points, and above it in UTF-16 units. */
const unknownIds = ({ chance }: VerifySession): Record<string, string> => ({
  'an id that nothing has': chance.uuid('nothing'),
  'an id of another form': 'no such id',
  [`an id of ${lengths.id} characters`]: '𠮷'.repeat(lengths.id),
});

const ofUnknownIds: readonly Reason[] = [
  'GAME_NOT_FOUND',
  'IMAGE_POST_NOT_FOUND',
  'USER_NOT_FOUND',
  'WEBHOOK_NOT_FOUND',
  'DELIVERY_NOT_FOUND',
];
/** On a port that no operator allows. */
const FORBIDDEN_URL = 'https://hooks.example.com:1/';

const notFound = (reason: Reason): Provocation =>
  refused(reason, ({ example, idMember }, session) =>
    idMember === undefined
      ? []
      : Object.entries(unknownIds(session)).map(([title, id]) => ({
          title,
          request: { body: bodyOf({ ...session.marked(example.input), [idMember]: id }) },
        })),
  );

/** An input that would change nothing, were it not refused. */
const harmlessInput = (operation: Operation, id: string): unknown => {
  const required = inputMembers(operation).flatMap((member) => (member.required ? [[member.name, member.sample]] : []));
  return { ...Object.fromEntries(required), [operation.idMember ?? 'id']: id };
};

/** The id of one of the latest records that another author published. @throws Skip if there is none */
const ofAnotherAuthor = async (operation: Operation, session: VerifySession): Promise<string> => {
  const { author: me } = await session.record(operation);
  const sample = (await session.samples(operation)).find(({ author }) => author.id !== me.id);
  if (sample) return sample.id;
  const list = session.partner(operation, 'list');
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const { items, hasMore } = await session.prepare<ListedPage>(list, { limit: MAX_PAGE_SIZE, page });
    const record = items.find(({ author }) => author.id !== me.id);
    if (record) return record.id;
    if (!hasMore) break;
  }
  throw new Skip(`none of the latest ${MAX_PAGES * MAX_PAGE_SIZE} records is of another author`);
};

const tooDeep = refused('PAGE_TOO_DEEP', ({ example }) => [
  {
    title: `page ${MAX_PAGE_DEPTH + 1} of 1 record each`,
    request: { body: bodyOf({ ...example.input, page: MAX_PAGE_DEPTH + 1, limit: 1 }) },
  },
]);

/** A cursor that was made for all records. */
const foreignCursor = async (operation: Operation, session: VerifySession): Promise<string> => {
  const { nextCursor } = await session.prepare<ListedPage>(operation, { limit: 1, page: 1 });
  if (nextCursor === null) throw new Skip('there are not enough records for a second page');
  return nextCursor;
};

const ofOtherFilters = (operation: Operation, session: VerifySession): RefusedAttempt => ({
  title: 'a cursor of other filters',
  request: async () => {
    const cursor = await foreignCursor(operation, session);
    return { body: bodyOf({ limit: 1, page: 1, cursor, search: session.run }) };
  },
});

/** How to bring about each reason that an operation can answer. */
export const provocations: Record<Exclude<Reason, keyof typeof unprovoked | ServiceReason>, Provocation> = {
  PROCEDURE_NOT_FOUND: (operation, session) =>
    [`${operation.path}/`, operation.path.slice(0, -operation.name.length) + operation.name.toUpperCase()].map(
      (path) => ({
        ...checkOf(operation, 'PROCEDURE_NOT_FOUND', `is not found at ${path}`, async () => {
          const reply = await session.send({ ...operation, path }, { body: exampleBody(operation) });
          expectFailure(reply, 'PROCEDURE_NOT_FOUND', null);
        }),
        needs: [],
      }),
    ),

  METHOD_NOT_SUPPORTED: refused('METHOD_NOT_SUPPORTED', ({ effect }) =>
    ['PUT', 'DELETE', ...(effect === 'write' ? ['GET'] : [])].map((method) => ({
      title: method,
      request: { method },
      needs: [],
    })),
  ),

  UNSUPPORTED_MEDIA_TYPE: refused('UNSUPPORTED_MEDIA_TYPE', (operation) =>
    ['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=utf-16'].map((type) => ({
      title: type,
      request: { body: exampleBody(operation), headers: { 'Content-Type': type } },
      needs: [],
    })),
  ),

  KEY_MISSING: refused('KEY_MISSING', (operation) => [
    { title: 'a call without a key', request: { body: exampleBody(operation) }, anonymous: true },
    { title: 'a call without a key before it looks at the body', request: { body: NO_JSON }, anonymous: true },
  ]),

  KEY_MALFORMED: refused('KEY_MALFORMED', (operation) =>
    ['Bearer no-key', 'Basic dXNlcjpwYXNzd29yZA=='].map((authorization) => ({
      title: `\`${authorization}\``,
      request: { body: exampleBody(operation), headers: { Authorization: authorization } },
      needs: [],
    })),
  ),

  KEY_UNKNOWN: refused('KEY_UNKNOWN', (operation, { caller }) => [
    {
      title: 'a key that was never issued',
      request: { body: exampleBody(operation), headers: { Authorization: `Bearer ${caller.unknownKey}` } },
      needs: [],
    },
  ]),

  SCOPE_MISSING: missingScope,
  PAYLOAD_TOO_LARGE: largeBodies,

  MALFORMED_JSON: refused('MALFORMED_JSON', () => [
    { title: 'JSON that is cut short', request: { body: NO_JSON } },
    { title: 'what is no JSON', request: { body: 'limit=1&page=1' } },
  ]),

  VALIDATION_FAILED: inputChecks,

  PAGE_TOO_DEEP: (operation, session) => [
    ...tooDeep(operation, session),
    checkOf(operation, 'output', `answers page ${MAX_PAGE_DEPTH} of 1 record each`, async () => {
      await session.call(operation, { ...operation.example.input, page: MAX_PAGE_DEPTH, limit: 1 });
    }),
  ],

  CURSOR_INVALID: refused('CURSOR_INVALID', (operation, session) => {
    const pages = session.lists.includes(operation);
    const made = pages ? { limit: 1, page: 1, cursor: 'no-cursor' } : { after: 'no-cursor' };
    const own = { title: 'a cursor of its own making', request: { body: bodyOf(made) } };
    return pages ? [own, ofOtherFilters(operation, session)] : [own];
  }),

  NOT_OWNER: refused('NOT_OWNER', (operation, session) => [
    {
      title: 'a record of another author',
      request: async () => {
        const id = await ofAnotherAuthor(operation, session);
        return { body: bodyOf(harmlessInput(operation, id)) };
      },
    },
  ]),

  IDEMPOTENCY_KEY_INVALID: refused('IDEMPOTENCY_KEY_INVALID', (operation) =>
    [`${'k'.repeat(idempotencyKey.maxLength)}k`, 'clé'].map((key) => ({
      title: `the ${idempotencyKey.name} ${show(key)}`,
      request: { body: exampleBody(operation), headers: { [idempotencyKey.name]: key } },
    })),
  ),

  IDEMPOTENCY_MISMATCH: mismatchChecks,

  GAME_NOT_FOUND: notFound('GAME_NOT_FOUND'),
  IMAGE_POST_NOT_FOUND: notFound('IMAGE_POST_NOT_FOUND'),
  USER_NOT_FOUND: notFound('USER_NOT_FOUND'),
  WEBHOOK_NOT_FOUND: notFound('WEBHOOK_NOT_FOUND'),
  DELIVERY_NOT_FOUND: notFound('DELIVERY_NOT_FOUND'),

  WEBHOOK_URL_FORBIDDEN: refused('WEBHOOK_URL_FORBIDDEN', ({ example }) => [
    { title: FORBIDDEN_URL, request: { body: bodyOf({ ...example.input, url: FORBIDDEN_URL }) } },
  ]),

  WEBHOOK_NOT_ACTIVE: refused('WEBHOOK_NOT_ACTIVE', (_, { webhooks }) => [
    { title: 'a webhook that is paused', request: async () => ({ body: bodyOf({ id: await webhooks.paused() }) }) },
  ]),
};

/**
 * Whether checks can bring a reason about. An operation without an id has nothing to look for that is not there: it depends on the
 * records whether it finds one.
 */
export const canBeProvoked = ({ idMember }: Operation, reason: Reason): boolean =>
  !Object.hasOwn(unprovoked, reason) && (idMember !== undefined || !ofUnknownIds.includes(reason));

/** The refusals of any path; the contract lists them for all operations. */
const ofEveryPath = ['PROCEDURE_NOT_FOUND', 'METHOD_NOT_SUPPORTED'] as const satisfies readonly Reason[];

const isProvoked = (reason: Reason): reason is keyof typeof provocations => Object.hasOwn(provocations, reason);

/** A check for each refusal that an operation documents and a client can bring about. */
export const refusalChecks = (operation: Operation, session: VerifySession): Check[] =>
  [...ofEveryPath, ...operation.reasons]
    .filter(isProvoked)
    .flatMap((reason) => provocations[reason](operation, session));
