import { docsOf, idempotencyReplayed, type Reason } from '../../../../contract/index.ts';
import { type Check, once, openCheck, SERVICE } from '../check.ts';
import type { Reply } from '../exchange.ts';
import { ailmentOr, demand, failureFindings } from '../findings/expect.ts';
import { type Finding, show, Skip } from '../findings/finding.ts';
import { failureMember } from '../values.ts';
import type { VerifySession } from '../session.ts';

// Rules for every reply, checked on all replies at the end of a run.

interface Rule {
  name: string;
  /** The replies to which the rule applies, in words and as a test. */
  kind: string;
  about: (reply: Reply) => boolean;
  /** The fault in a reply. */
  fault: (reply: Reply) => Finding | undefined;
}

/** The headers that scripts of other sites must be able to read. */
const EXPOSED = [
  'RateLimit',
  'RateLimit-Policy',
  'X-Request-Id',
  'WWW-Authenticate',
  'Retry-After',
  'X-Should-Retry',
  idempotencyReplayed.name,
];

/** Whether a reply is the service's own, not the page of something in front of it, which has its own finding. */
const isOwn = ({ text, json }: Reply): boolean => text === '' || json !== undefined;
const isOwnAnswer = (reply: Reply): boolean => isOwn(reply) && reply.request.method !== 'OPTIONS';
/** Whether the deployment must use a client's request id. */
const isUsable = (requestId: string): boolean => /^[\w.:-]{1,128}$/.test(requestId);
const itemsOf = (header: string): string[] => header.toLowerCase().split(/ *, */);

/** The fault in a header that must have a form. */
const header =
  (
    name: string,
    form: string | ((reply: Reply) => string),
    isFine: (value: string, reply: Reply) => boolean,
  ): Rule['fault'] =>
  (reply) => {
    const value = reply.headers.get(name);
    if (isFine(value ?? '', reply)) return undefined;
    const cause = `${value === null ? 'no' : 'wrong'} header ${name}`;
    const expected = `the header ${name} ${typeof form === 'string' ? form : form(reply)}`;
    return { expected, came: show(value ?? undefined), cause };
  };

const jsonType = header('Content-Type', '"application/json; charset=utf-8"', (type) =>
  /^application\/json; *charset=utf-8$/i.test(type),
);

const rulesOfAll = ({ client, operations }: VerifySession): Rule[] => {
  const streams = operations.flatMap(({ id, isStream }) => (isStream ? [id] : []));
  const isStreamed = ({ subject, status }: Reply): boolean => status === 200 && streams.includes(subject);
  return [
    {
      name: 'writes every reply as JSON in UTF-8',
      kind: 'reply with a body',
      about: (reply) => reply.text !== '' && !isStreamed(reply),
      fault: (reply) => {
        const finding = jsonType(reply);
        return finding && { ...ailmentOr(reply, finding), came: finding.came };
      },
    },
    {
      name: 'writes every failure in the one envelope',
      kind: 'failure',
      about: ({ status, text }) => status >= 400 && text !== '',
      fault: (reply) => failureFindings(reply)[0],
    },
    {
      name: 'repeats the request id in every reply',
      kind: 'reply',
      about: (reply) => isOwn(reply) && isUsable(reply.requestId),
      fault: header(
        'X-Request-Id',
        ({ requestId }) => show(requestId),
        (id, { requestId }) => id === requestId,
      ),
    },
    {
      name: 'tells the request id in every failure',
      kind: 'failure',
      about: ({ json, headers }) => failureMember(json, 'requestId') !== undefined && headers.has('X-Request-Id'),
      fault: ({ json, headers }) => {
        const [expected, came] = [headers.get('X-Request-Id'), failureMember(json, 'requestId')];
        if (came === expected) return undefined;
        return { expected: `the X-Request-Id ${show(expected)}`, came: show(came), at: '/error/json/data/requestId' };
      },
    },
    {
      name: 'names the page about its reason in every failure',
      kind: 'failure',
      about: ({ json }) => typeof failureMember(json, 'reason') === 'string',
      fault: ({ json }) => {
        const [expected, came] = [docsOf(failureMember(json, 'reason') as Reason), failureMember(json, 'docs')];
        if (typeof came === 'string' && came.endsWith(expected)) return undefined;
        return { expected: show(expected), came: show(came), at: '/error/json/data/docs' };
      },
    },
    {
      name: 'lets scripts of other sites read every reply',
      kind: 'reply',
      about: isOwn,
      fault: header('Access-Control-Allow-Origin', `"*" or "${client.origin}", see --origin`, (origin) =>
        ['*', client.origin].includes(origin),
      ),
    },
    {
      name: 'lets scripts of other sites read the headers that matter',
      kind: 'reply',
      about: isOwnAnswer,
      fault: header('Access-Control-Expose-Headers', `with ${EXPOSED.join(', ')}`, (exposed) =>
        EXPOSED.every((name) => itemsOf(exposed).includes(name.toLowerCase())),
      ),
    },
  ];
};

/** Rules for failures of all operations. */
const rulesOfOperations: Rule[] = [
  {
    name: 'says with every 401 how to authenticate',
    kind: '401',
    about: (reply) => isOwn(reply) && reply.status === 401,
    fault: header('WWW-Authenticate', 'that begins with "Bearer"', (challenge) => /^Bearer\b/.test(challenge)),
  },
  {
    name: 'says with every 405 what is allowed',
    kind: '405',
    about: (reply) => isOwn(reply) && reply.status === 405,
    fault: header(
      'Allow',
      ({ request: { method } }) => `with POST and without ${method}`,
      (allowed, { request: { method } }) =>
        itemsOf(allowed).includes('post') && !itemsOf(allowed).includes(method.toLowerCase()),
    ),
  },
];

/** A list of items, a text each, with parameters (RFC 9651), the first of which is this one. */
const itemsWith = (parameter: string): RegExp => {
  const item = `"[ !#-\\[\\]-~]+";${parameter}=[0-9]+(?:; *[a-z]+=(?:"[ !#-\\[\\]-~]*"|[0-9]+))*`;
  return new RegExp(`^${item}(?: *, *${item})*$`);
};
const RATE_HEADERS = [
  { name: 'RateLimit-Policy', form: itemsWith('q'), example: '"read";q=600;w=60' },
  { name: 'RateLimit', form: itemsWith('r'), example: '"read";r=599;t=1' },
];

/** Rules of the replies of a deployment, which may limit rates or not. */
const rulesOfRates = ({ client }: VerifySession): Rule[] => {
  // Evaluated when all replies have arrived.
  const limits = once(() => client.replies.some(({ headers }) => RATE_HEADERS.some(({ name }) => headers.has(name))));
  return RATE_HEADERS.map(({ name, form, example }) => ({
    name: `tells in every reply or in none, by ${name}, how the caller stands to its rates`,
    kind: 'reply',
    about: isOwnAnswer,
    fault: header(name, `such as ${example}`, (value) => !limits() || form.test(value)),
  }));
};

/** A rule for failures that need not occur. */
const retryRule: Rule = {
  name: 'says with every 429 and 503 when to try again',
  kind: '429 or 503',
  about: ({ status }) => status === 429 || status === 503,
  fault: header('Retry-After', 'in seconds', (seconds) => /^[0-9]+$/.test(seconds)),
};

const follow = ({ kind, about, fault }: Rule, replies: readonly Reply[]): void => {
  const concerned = replies.filter(about);
  if (concerned.length === 0) throw new Skip(`no ${kind} came`);
  const faulty = concerned.filter(fault);
  const [first] = faulty;
  const finding = first && fault(first);
  if (finding) demand(first, [{ ...finding, share: { faulty: faulty.length, of: concerned.length } }]);
};

/** A check for each rule and each subject. They need the replies to all other checks. */
export const replyChecks = (session: VerifySession): Check[] => {
  const { client, operations } = session;
  const check = (rule: Rule, subject: string, isConcerned: Rule['about']): Check =>
    openCheck(subject, rule.name, async () => follow(rule, client.replies.filter(isConcerned)));
  const checks = (rules: readonly Rule[], subject: string): Check[] =>
    rules.map((rule) => check(rule, subject, (reply) => reply.subject === subject));
  const rules = rulesOfAll(session);
  const ofOperations = [...rules, ...rulesOfOperations, ...rulesOfRates(session)];
  return [
    ...checks(rules, SERVICE),
    check(retryRule, SERVICE, () => true),
    ...operations.flatMap(({ id }) => checks(ofOperations, id)),
  ];
};
