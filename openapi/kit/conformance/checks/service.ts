import { ERRORS_PATH, idempotencyKey, MAX_BATCH_CALLS, reasons } from '../../../../contract/index.ts';
import { pointerOf } from '../../../../contract/issues.ts';
import { type Check, once, openCheck, type Proof, SERVICE } from '../check.ts';
import { documented } from '../document/client-document.ts';
import { API_PATH } from '../contract/operation.ts';
import type { Reply } from '../exchange.ts';
import { ailmentOr, demand, demandThat, describeReply, expectFailure, expectSuccess } from '../findings/expect.ts';
import { differences, show } from '../findings/finding.ts';
import { failureMember, valueAt } from '../values.ts';
import type { VerifySession } from '../session.ts';
import { findingOf, readChanges, readDocument } from './document.ts';

/** One more than the limit of a batch. */
const TOO_MANY_CALLS = MAX_BATCH_CALLS + 1;
const MULTI_STATUS = 207;
const REPEATING = idempotencyKey.name.toLowerCase();
/** An id with a space is unusable in a log. */
const UNUSABLE_ID = 'not usable';
const JSON_TYPE = { 'Content-Type': 'application/json' };

const serviceCheck = (proves: Proof, name: string, run: Check['run']): Check => openCheck(SERVICE, name, run, proves);

const pathsOf = (document: unknown): string[] => Object.keys(valueAt(document, ['paths']) ?? {});

/** A part of a document without its code samples, which name the address of each deployment. */
const withoutSamples = (part: unknown): unknown =>
  JSON.parse(JSON.stringify(part ?? null, (name, value: unknown) => (name === 'x-codeSamples' ? undefined : value)));

/** Whether newer documents may differ in this member: texts, extensions, and schemas, which `changesFor` compares. */
const isFree = (name: string): boolean => /^(?:x-.*|description|summary|examples?|schemas?)$/.test(name);

/** The parts of a document, or of an operation, that newer ones also have. Elements identify those of lists. */
const lasting = (part: unknown): unknown => {
  if (Array.isArray(part)) return Object.fromEntries(part.map((item) => [JSON.stringify(lasting(item)), true]));
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(
    Object.entries(part).flatMap(([name, member]) => (isFree(name) ? [] : [[name, lasting(member)]])),
  );
};

/** Whether a version is this one, or a later one with the same first number. */
const isSince = (version: string, since: string): boolean =>
  version.split('.')[0] === since.split('.')[0] && version.localeCompare(since, 'en', { numeric: true }) >= 0;

const VERSION = ['info', 'version'];

/** Checks that the published document is the contract's or, unless that is a fault, a newer one. */
const documentChecks = (session: VerifySession): Check[] => {
  const { operations, document, strict } = session;
  const published = once(() => readDocument(session));
  const changes = once(() => readChanges(session, documented('this contract', document)));
  const compare = async (...path: string[]): Promise<void> => {
    const reply = await published();
    const [expected, came] = [document, reply.json].map((one) => valueAt(one, path));
    const findings = strict
      ? differences(withoutSamples(expected), withoutSamples(came), pointerOf(path))
      : differences(lasting(expected), lasting(came), pointerOf(path), { more: 'allowed' });
    demand(reply, findings);
  };
  const compareOperation = async (id: string, path: string): Promise<void> => {
    const breaking = strict ? [] : (await changes()).filter(({ operation, breaks }) => breaks && operation === id);
    demand(await published(), breaking.map(findingOf));
    await compare('paths', path);
  };
  return [
    serviceCheck('form', 'publishes the version of this contract', async () => {
      if (strict) return compare(...VERSION);
      const reply = await published();
      const [since, version] = [document, reply.json].map((one) => String(valueAt(one, VERSION)));
      const finding = {
        expected: `${show(since)} or a later version that breaks no client`,
        came: show(version),
        at: pointerOf(VERSION),
      };
      demandThat(isSince(version ?? '', since ?? ''), reply, finding);
    }),
    serviceCheck('form', 'publishes the components of this contract', () => compare('components')),
    ...(strict
      ? [
          serviceCheck('form', 'publishes no operations of other contracts', async () => {
            const reply = await published();
            const surplus = pathsOf(reply.json).filter((path) => !pathsOf(document).includes(path));
            demand(
              reply,
              surplus.map((path) => ({ expected: 'no such path', came: show(path), at: '/paths' })),
            );
          }),
        ]
      : []),
    ...operations.map(({ id, path }) =>
      openCheck(id, 'is published as the contract says', () => compareOperation(id, path)),
    ),
  ];
};

const pathChecks = ({ client }: VerifySession): Check[] => [
  serviceCheck('ROUTE_NOT_FOUND', 'finds nothing beside the API', async () => {
    const reply = await client.send(SERVICE, '/no-such-route', { body: '{}', headers: JSON_TYPE });
    expectFailure(reply, 'ROUTE_NOT_FOUND', null);
  }),
  serviceCheck('PROCEDURE_NOT_FOUND', 'finds no procedure that does not exist', async () => {
    const reply = await client.send(SERVICE, `${API_PATH}no.such`, { body: '{}', headers: JSON_TYPE });
    expectFailure(reply, 'PROCEDURE_NOT_FOUND', null);
  }),
  serviceCheck('form', 'makes up a request id where none is usable', async () => {
    const reply = await client.send(SERVICE, `${API_PATH}no.such`, { headers: { 'X-Request-Id': UNUSABLE_ID } });
    const id = reply.headers.get('x-request-id') ?? undefined;
    const isNew = id !== undefined && id !== UNUSABLE_ID;
    const cause = `${id === undefined ? 'no' : 'wrong'} header X-Request-Id`;
    demandThat(isNew, reply, ailmentOr(reply, { expected: 'a new X-Request-Id', came: show(id), cause }));
  }),
  serviceCheck('form', 'tells browsers that ask beforehand what they may send', async () => {
    const reply = await client.send(SERVICE, `${API_PATH}no.such`, {
      method: 'OPTIONS',
      headers: {
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': ['authorization', 'content-type', REPEATING].join(','),
      },
    });
    const methods = reply.headers.get('Access-Control-Allow-Methods') ?? '';
    const headers = reply.headers.get('Access-Control-Allow-Headers') ?? '';
    const isAllowed =
      reply.status < 300 &&
      /\bPOST\b/i.test(methods) &&
      ['authorization', REPEATING].every((name) => headers.toLowerCase().split(/ *, */).includes(name));
    const came = `status ${reply.status}, methods ${show(methods)}, headers ${show(headers)}`;
    const expected = `POST with the headers Authorization and ${idempotencyKey.name} to be allowed`;
    // A proxy that answers with its own page does so to every request.
    demandThat(isAllowed, reply, reply.status < 500 ? { expected, came } : ailmentOr(reply, { expected, came }));
  }),
];

/** The reply is a page, not JSON, so that it is no subject of other checks. */
const explanationCheck = ({ client }: VerifySession): Check =>
  serviceCheck('form', `explains every reason at ${ERRORS_PATH}`, async () => {
    const reply = await client.send(ERRORS_PATH, ERRORS_PATH, { method: 'GET' });
    const type = reply.headers.get('content-type') ?? 'no content type';
    const isPage = reply.status === 200 && type.startsWith('text/html');
    const came = `status ${reply.status}, ${type}`;
    const finding = { expected: 'a page, status 200, text/html', came };
    demandThat(isPage, reply, reply.status === 200 ? finding : ailmentOr(reply, finding));
    const missing = reasons.filter((reason) => !reply.text.includes(` id="${reason}"`));
    demandThat(missing.length === 0, reply, {
      expected: 'a section for each reason',
      came: `none for ${missing.join(', ')}`,
    });
  });

/** A reply to one call of a batch. */
const partOf = (batch: Reply, index: number): Reply => {
  const json = valueAt(batch.json, [index]);
  const status = failureMember(json, 'httpStatus');
  return { ...batch, json, status: typeof status === 'number' ? status : 200 };
};

const batchChecks = (session: VerifySession): Check[] => {
  const { client, operations } = session;
  const open = operations.find(({ access, inputOptional }) => access === 'public' && inputOptional);
  const locked = operations.find(({ access }) => access !== 'public');
  if (!open || !locked) return [];
  const send = (ids: readonly string[]): Promise<Reply> =>
    client.send(SERVICE, `${API_PATH}${ids.join(',')}?batch=1`, { body: '{}', headers: JSON_TYPE });
  return [
    serviceCheck('form', 'answers each call of a batch', async () => {
      const reply = await send([open.id, locked.id]);
      const isBatch = reply.status === MULTI_STATUS && Array.isArray(reply.json) && reply.json.length === 2;
      const finding = { expected: `status ${MULTI_STATUS} with 2 replies`, came: describeReply(reply) };
      demandThat(isBatch, reply, ailmentOr(reply, finding));
      expectSuccess(open, partOf(reply, 0));
      expectFailure(partOf(reply, 1), 'KEY_MISSING', locked.id);
    }),
    serviceCheck('BATCH_TOO_LARGE', `refuses a batch of ${TOO_MANY_CALLS} calls`, async () => {
      expectFailure(await send(Array<string>(TOO_MANY_CALLS).fill(open.id)), 'BATCH_TOO_LARGE', null);
    }),
  ];
};

/** Checks of requests for no operation or for several, and of the published document. */
export const serviceChecks = (session: VerifySession): Check[] => [
  ...documentChecks(session),
  ...pathChecks(session),
  explanationCheck(session),
  ...batchChecks(session),
];
