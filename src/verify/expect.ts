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

/** @throws Mismatch if there are findings */
export const demand = ({ requestId }: Pick<Reply, 'requestId'>, findings: readonly Finding[]): void => {
  if (findings.length > 0) throw new Mismatch(findings.map((finding) => ({ requestId, ...finding })));
};

/** A reply in a few words. */
export const describeReply = ({ status, headers, text, json }: Reply): string => {
  const reason = valueAt(json, ['error', 'json', 'data', 'reason']);
  if (typeof reason === 'string') return `status ${status} ${show(reason)}`;
  if (valueAt(json, ['result']) !== undefined) return `status ${status} with a result`;
  return `status ${status}, ${headers.get('content-type') ?? 'no content type'}, ${show(json ?? text)}`;
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
export const schemaFindings = (schema: z.ZodType, body: unknown): Finding[] => {
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

/** The output in a reply that has to be a success, strictly as the contract says. @throws Mismatch */
export const expectSuccess = ({ success }: Operation, reply: Reply): unknown => {
  const { status, json } = reply;
  if (status !== 200 || json === undefined) {
    demand(reply, [{ expected: 'status 200 with a result', came: describeReply(reply) }]);
  }
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
  if (reply.status !== status || json === undefined) {
    demand(reply, [{ expected: `status ${status} "${reason}"`, came: describeReply(reply) }]);
  }
  demand(reply, schemaFindings(Failure, json));
  const failure = (json as ErrorResponse).error.json;
  const expected = { code: number, data: { code, httpStatus: status, path, reason } };
  demand(reply, differences(expected, failure, FAILURE, { more: 'allowed' }));
  return failure.data;
};
