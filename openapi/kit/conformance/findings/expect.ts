import type { z } from 'zod';
import { errorOf, ErrorResponse, operations, type Reason } from '../../../../contract/index.ts';
import { pointerOf } from '../../../../contract/issues.ts';
import type { Reply } from '../exchange.ts';
import { differences, type Finding, Mismatch, show, Skip } from './finding.ts';
import { failureMember, valueAt } from '../values.ts';
import type { Operation } from '../contract/operation.ts';

/** The place of an operation's output in its reply. */
export const OUTPUT = '/result/data/json';
const FAILURE = '/error/json';

/** The reasons for which a deployment refuses what its operator has left out, and words for them. */
const LACKS: Partial<Record<Reason, string>> = {
  EVENTS_OFF: 'the deployment keeps no events',
  WEBHOOK_SECRETS_OFF: 'the deployment has no key for the secrets of webhooks',
};

/** The feature that the deployment lacks, if the reply has a reason for that, and the operation declares it. */
const disabledFeature = ({ subject, json }: Reply): string | undefined => {
  const reason = failureMember(json, 'reason') as Reason;
  const isDeclared = operations.some(({ id, reasons }) => id === subject && reasons.includes(reason));
  return isDeclared ? LACKS[reason] : undefined;
};

/**
 * @throws Mismatch if findings exist, about this reply unless they name another one; Skip if the reply says that the
 * deployment lacks something on purpose
 */
export const demand = (exchange: Reply, findings: readonly Finding[]): void => {
  const lack = findings.length > 0 ? disabledFeature(exchange) : undefined;
  if (lack !== undefined) throw new Skip(lack);
  if (findings.length > 0) throw new Mismatch(findings.map((finding) => ({ exchange, ...finding })));
};

/** @throws Mismatch with the finding unless `holds` */
export const demandThat = (holds: boolean, reply: Reply, finding: Finding): void =>
  demand(reply, holds ? [] : [finding]);

/** The members of an object and of those within it, in a few words. */
const outlineOf = (value: unknown, depth = 3): string => {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || depth === 0) return '…';
  return `{${Object.entries(value)
    .map(([name, member]) => `${show(name)}:${outlineOf(member, depth - 1)}`)
    .join(',')}}`;
};

const hasEnvelope = (json: unknown): boolean =>
  Object.hasOwn(Object(valueAt(json, ['result', 'data'])), 'json') || valueAt(json, ['error', 'json']) !== undefined;

/** The fault in a reply as a whole: it is not JSON, or has neither of the two envelopes. */
const ailmentOf = (reply: Reply): Finding | undefined => {
  const { status, headers, text, json } = reply;
  if (json === undefined) {
    const type = headers.get('content-type') ?? 'no content type';
    const came = `status ${status}, ${type}, no JSON: ${show(text)}`;
    return { expected: 'JSON', came, cause: `no JSON: status ${status}, ${type}` };
  }
  if (Array.isArray(json) || hasEnvelope(json)) return undefined;
  return {
    expected: 'an envelope, {"result":{"data":{"json":…}}} or {"error":{"json":…}}',
    came: `status ${status}, ${outlineOf(json)}`,
    cause: `envelope: ${Object.keys(Object(json)).join()}`,
  };
};

/** The fault in a reply as a whole, or else the given finding. */
export const ailmentOr = (reply: Reply, finding: Finding): Finding => {
  const ailment = ailmentOf(reply);
  if (!ailment) return finding;
  return { ...ailment, expected: ailment.expected === 'JSON' ? finding.expected : ailment.expected };
};

/** A reply in a few words. */
export const describeReply = (reply: Reply): string => {
  const { status, headers, json } = reply;
  const reason = failureMember(json, 'reason');
  if (typeof reason === 'string') return `status ${status} ${show(reason)}`;
  if (valueAt(json, ['result']) !== undefined) return `status ${status} with a result`;
  return (
    ailmentOf(reply)?.came ?? `status ${status}, ${headers.get('content-type') ?? 'no content type'}, ${show(json)}`
  );
};

/** `/items/0/title` and `/items/1/title` are one difference, not two. */
const withoutIndices = (path: readonly PropertyKey[]): string =>
  pointerOf(path.map((member) => (typeof member === 'number' ? '*' : member)));

const schemaFinding = (issue: z.core.$ZodIssue, path: readonly PropertyKey[], body: unknown): Finding => {
  const value = valueAt(body, path);
  const expected = issue.code === 'invalid_type' ? issue.expected : issue.message;
  return {
    expected: issue.code === 'unrecognized_keys' ? 'no such member' : expected,
    came: show(value),
    at: pointerOf(path),
  };
};

const issuesOf = (schema: z.ZodType, body: unknown): z.core.$ZodIssue[] => schema.safeParse(body).error?.issues ?? [];

/** Issues as findings: a difference that all items of a list share is one finding. */
const findingsOf = (issues: readonly z.core.$ZodIssue[], body: unknown): Finding[] => {
  const found = new Map<string, Finding>();
  for (const issue of issues) {
    const paths = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
    for (const path of paths) {
      const likeness = `${issue.code} ${withoutIndices(path)}`;
      if (!found.has(likeness)) found.set(likeness, schemaFinding(issue, path, body));
    }
  }
  return [...found.values()];
};

/** The differences of a body from a schema. */
export const schemaFindings = (schema: z.ZodType, body: unknown): Finding[] => findingsOf(issuesOf(schema, body), body);

/** The members of a body that a strict schema does not know. */
export const unknownMembers = (schema: z.ZodType, body: unknown): Finding[] =>
  findingsOf(
    issuesOf(schema, body).filter(({ code }) => code === 'unrecognized_keys'),
    body,
  );

/** The differences of a reply from the envelope of all failures; it may hold more. */
export const failureFindings = (reply: Reply): Finding[] => {
  const findings = schemaFindings(ErrorResponse, reply.json);
  const [first] = findings;
  return first && ailmentOf(reply) ? [ailmentOr(reply, first)] : findings;
};

/**
 * The output in a reply that must be a success, without the members that the contract does not know.
 * @throws Mismatch, and Skip if an operation without an id says that it has no record
 */
export const expectSuccess = ({ success, idMember, notFound }: Operation, reply: Reply): unknown => {
  const { status, json } = reply;
  const reason = failureMember(json, 'reason');
  if (idMember === undefined && notFound !== undefined && reason === notFound) {
    throw new Skip('there is no record that it could answer');
  }
  const isResult = status === 200 && valueAt(json, ['result']) !== undefined;
  const finding = { expected: 'status 200 with a result', came: describeReply(reply) };
  demandThat(isResult, reply, ailmentOr(reply, finding));
  const [first, ...others] = schemaFindings(success, json);
  demand(reply, first ? (ailmentOf(reply) ? [ailmentOr(reply, first)] : [first, ...others]) : []);
  return valueAt(success.parse(json), ['result', 'data', 'json']);
};

/** The payload of a reply that must be a failure for this reason. `path` is its procedure. @throws Mismatch */
export const expectFailure = (
  reply: Reply,
  reason: Reason,
  path: string | null,
): ErrorResponse['error']['json']['data'] => {
  const { status, code, number } = errorOf(reason);
  const { json } = reply;
  const isFailure = reply.status === status && json !== undefined;
  const isOnlyStatus = failureMember(json, 'reason') === reason;
  demandThat(
    isFailure,
    reply,
    ailmentOr(reply, {
      expected: `status ${status} "${reason}"`,
      came: describeReply(reply),
      ...(isOnlyStatus && { cause: `failures of status ${reply.status}` }),
    }),
  );
  demand(reply, failureFindings(reply));
  const failure = (json as ErrorResponse).error.json;
  const expected = { code: number, data: { code, httpStatus: status, path, reason } };
  demand(reply, differences(expected, failure, FAILURE, { more: 'allowed' }));
  return failure.data;
};
