import type { z } from 'zod';
import { errorOf, ErrorResponse, type Reason } from '../../contract/index.ts';
import { pointerOf } from '../../contract/issues.ts';
import type { Reply } from './client.ts';
import { differences, type Finding, Mismatch, show, valueAt } from './finding.ts';
import type { Operation } from './operation.ts';
import { strict } from './strict.ts';

/** Where the output of an operation is in its reply. */
export const OUTPUT = '/result/data/json';
const FAILURE = '/error/json';
const Failure = strict(ErrorResponse);

/** @throws Mismatch if there are findings, about this reply unless they name another one */
export const demand = ({ subject, requestId }: Reply, findings: readonly Finding[]): void => {
  const request = { subject, requestId };
  if (findings.length > 0) throw new Mismatch(findings.map((finding) => ({ request, ...finding })));
};

/** @throws Mismatch with the finding unless something holds */
export const demandThat = (holds: boolean, reply: Reply, finding: Finding): void =>
  demand(reply, holds ? [] : [finding]);

/** @throws Mismatch if an output lacks what is expected of it; it may hold more */
export const demandOutput = (reply: Reply, expected: object, output: unknown): void =>
  demand(reply, differences(expected, output, OUTPUT, { more: 'allowed' }));

/** A reply in a few words. */
export const describeReply = ({ status, headers, text, json }: Reply): string => {
  const reason = valueAt(json, ['error', 'json', 'data', 'reason']);
  if (typeof reason === 'string') return `status ${status} ${show(reason)}`;
  if (valueAt(json, ['result']) !== undefined) return `status ${status} with a result`;
  const type = headers.get('content-type') ?? 'no content type';
  return json === undefined
    ? `status ${status}, ${type}, no JSON: ${show(text)}`
    : `status ${status}, ${type}, ${show(json)}`;
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

/** How a body differs from a schema; what differs likewise in every item of a list is told once. */
const schemaFindings = (schema: z.ZodType, body: unknown): Finding[] => {
  const found = new Map<string, Finding>();
  for (const issue of schema.safeParse(body).error?.issues ?? []) {
    const paths = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
    for (const path of paths) {
      const likeness = `${issue.code} ${withoutIndices(path)}`;
      if (!found.has(likeness)) found.set(likeness, schemaFinding(issue, path, body));
    }
  }
  return [...found.values()];
};

/** How a body differs from the envelope of all failures. */
export const failureFindings = (body: unknown): Finding[] => schemaFindings(Failure, body);

/** The output in a reply that has to be a success, strictly as the contract says. @throws Mismatch */
export const expectSuccess = ({ success }: Operation, reply: Reply): unknown => {
  const { status, json } = reply;
  const isResult = status === 200 && json !== undefined;
  demandThat(isResult, reply, { expected: 'status 200 with a result', came: describeReply(reply) });
  demand(reply, schemaFindings(success, json));
  return valueAt(json, ['result', 'data', 'json']);
};

/** The payload of a reply that has to be a failure for this reason. `path` is its procedure. @throws Mismatch */
export const expectFailure = (
  reply: Reply,
  reason: Reason,
  path: string | null,
): ErrorResponse['error']['json']['data'] => {
  const { status, code, number } = errorOf(reason);
  const { json } = reply;
  const isFailure = reply.status === status && json !== undefined;
  demandThat(isFailure, reply, { expected: `status ${status} "${reason}"`, came: describeReply(reply) });
  demand(reply, failureFindings(json));
  const failure = (json as ErrorResponse).error.json;
  const expected = { code: number, data: { code, httpStatus: status, path, reason } };
  demand(reply, differences(expected, failure, FAILURE, { more: 'allowed' }));
  return failure.data;
};
