import { idempotencyReplayed } from '../../../contract/index.ts';
import { type Check, SERVICE } from '../check.ts';
import type { Reply } from '../client.ts';
import { demand, failureFindings } from '../expect.ts';
import { type Finding, show, Skip, valueAt } from '../finding.ts';
import type { Session } from '../session.ts';

// What every reply owes its caller, whatever it is about; looked at over all replies of the run, when all have come.

interface Rule {
  name: string;
  /** What replies it is about, in words and as a test. */
  kind: string;
  about: (reply: Reply) => boolean;
  /** What is wrong with a reply. */
  fault: (reply: Reply) => Finding | undefined;
}

/** A rule that a header of some replies has a form. */
interface HeaderRule extends Omit<Rule, 'fault'> {
  header: string;
  form: (reply: Reply) => string;
  isFine: (value: string, reply: Reply) => boolean;
}

/** What scripts of other sites have to be able to read. */
const EXPOSED = ['X-Request-Id', 'WWW-Authenticate', 'Retry-After', 'X-Should-Retry', idempotencyReplayed.name];
const REQUEST_ID = ['error', 'json', 'data', 'requestId'];

const always = (): boolean => true;
/** Whether the deployment has to take a request id over. */
const isUsable = (requestId: string): boolean => /^[\w.:-]{1,128}$/.test(requestId);
const itemsOf = (header: string): string[] => header.toLowerCase().split(/ *, */);

const headerRule = ({ header, form, isFine, ...rule }: HeaderRule): Rule => ({
  ...rule,
  fault: (reply) => {
    const value = reply.headers.get(header);
    if (isFine(value ?? '', reply)) return undefined;
    return { expected: `the header ${header} ${form(reply)}`, came: show(value ?? undefined) };
  },
});

const rulesOfAll = ({ client }: Session): Rule[] => [
  headerRule({
    name: 'writes every reply as JSON in UTF-8',
    kind: 'reply with a body',
    about: ({ text }) => text !== '',
    header: 'Content-Type',
    form: () => '"application/json; charset=utf-8"',
    isFine: (type) => /^application\/json; *charset=utf-8$/i.test(type),
  }),
  {
    name: 'writes every failure in the one envelope',
    kind: 'failure',
    about: ({ status, text }) => status >= 400 && text !== '',
    fault: ({ json }) => failureFindings(json)[0],
  },
  headerRule({
    name: 'repeats the request id in every reply',
    kind: 'reply',
    about: ({ requestId }) => isUsable(requestId),
    header: 'X-Request-Id',
    form: ({ requestId }) => show(requestId),
    isFine: (id, { requestId }) => id === requestId,
  }),
  {
    name: 'tells the request id in every failure',
    kind: 'failure',
    about: ({ json }) => valueAt(json, REQUEST_ID) !== undefined,
    fault: ({ json, headers }) => {
      const [expected, came] = [headers.get('X-Request-Id') ?? undefined, valueAt(json, REQUEST_ID)];
      if (came === expected) return undefined;
      return { expected: `the X-Request-Id ${show(expected)}`, came: show(came), at: '/error/json/data/requestId' };
    },
  },
  headerRule({
    name: 'lets scripts of other sites read every reply',
    kind: 'reply',
    about: always,
    header: 'Access-Control-Allow-Origin',
    form: () => `"*" or "${client.origin}", see --origin`,
    isFine: (origin) => ['*', client.origin].includes(origin),
  }),
  headerRule({
    name: 'lets scripts of other sites read the headers that matter',
    kind: 'reply',
    about: ({ method }) => method !== 'OPTIONS',
    header: 'Access-Control-Expose-Headers',
    form: () => `with ${EXPOSED.join(', ')}`,
    isFine: (exposed) => EXPOSED.every((header) => itemsOf(exposed).includes(header.toLowerCase())),
  }),
];

/** Rules of failures that every operation has. */
const rulesOfOperations: Rule[] = [
  headerRule({
    name: 'says with every 401 how to authenticate',
    kind: '401',
    about: ({ status }) => status === 401,
    header: 'WWW-Authenticate',
    form: () => 'that begins with "Bearer"',
    isFine: (challenge) => /^Bearer\b/.test(challenge),
  }),
  headerRule({
    name: 'says with every 405 what is allowed',
    kind: '405',
    about: ({ status }) => status === 405,
    header: 'Allow',
    form: ({ method }) => `with POST and without ${method}`,
    isFine: (allowed, { method }) =>
      itemsOf(allowed).includes('post') && !itemsOf(allowed).includes(method.toLowerCase()),
  }),
];

/** A rule of failures that need not come at all. */
const retryRule = headerRule({
  name: 'says with every 429 and 503 when to try again',
  kind: '429 or 503',
  about: ({ status }) => status === 429 || status === 503,
  header: 'Retry-After',
  form: () => 'in seconds',
  isFine: (seconds) => /^[0-9]+$/.test(seconds),
});

const follow = ({ kind, about, fault }: Rule, replies: readonly Reply[]): void => {
  const concerned = replies.filter(about);
  if (concerned.length === 0) throw new Skip(`no ${kind} came`);
  const faulty = concerned.filter(fault);
  const [first] = faulty;
  const finding = first && fault(first);
  if (!finding) return;
  const came = `${finding.came}, likewise in ${faulty.length} of ${concerned.length} replies`;
  demand(first, [{ ...finding, came }]);
};

/** A check for each rule and each subject. They need the replies to all other checks. */
export const replyChecks = (session: Session): Check[] => {
  const { client, operations } = session;
  const check = (rule: Rule, subject: string, isConcerned: Rule['about']): Check => ({
    subject,
    name: rule.name,
    proves: 'form',
    needs: [],
    run: async () => follow(rule, client.replies.filter(isConcerned)),
  });
  const checks = (rules: readonly Rule[], subject: string): Check[] =>
    rules.map((rule) => check(rule, subject, (reply) => reply.subject === subject));
  const rules = rulesOfAll(session);
  return [
    ...checks(rules, SERVICE),
    check(retryRule, SERVICE, always),
    ...operations.flatMap(({ id }) => checks([...rules, ...rulesOfOperations], id)),
  ];
};
