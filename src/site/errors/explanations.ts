import {
  docsOf,
  errorOf,
  type ErrorResponse,
  failureBody,
  operations,
  type Reason,
  reasons,
  type Retry,
  retries,
} from '../../../contract/index.ts';
import { issuesOf } from '../../../contract/issues.ts';

/** All facts about a reason. Texts are sentences in Markdown that use only code spans. */
export interface Explanation {
  /** `data.reason` */
  reason: Reason;
  /** The HTTP status. */
  status: number;
  /** `data.code`, a code of tRPC's. */
  code: string;
  /** `code`, a number in the style of JSON-RPC. */
  number: number;
  /** The error message. */
  message: string;
  /** The hint, in a line; a reply may have a more precise one. */
  hint: string;
  /** The circumstances in which this happens. */
  cause: string;
  /** How to fix it. */
  fix: string;
  /** Whether it helps to send the same request again: one of a few values, and the same in words. */
  retry: { when: Retry; words: string };
  /** The ids of the operations that can return it; none for a reason that is not about a single operation. */
  operations: string[];
  /** `data.docs` */
  docs: string;
  /** The body of a reply. */
  example: ErrorResponse;
}

const REQUEST_ID = '019a3c5e-c260-7f96-8a63-ae51df72b306';

/** The issues of an empty input for the first operation that refuses one. */
const exampleIssues = () => {
  const faults = operations.flatMap(({ route }) => route.body.safeParse({ json: {} }).error?.issues ?? []);
  return issuesOf(faults.slice(0, 1));
};

const explain = (reason: Reason, publicUrl: string | undefined): Explanation => {
  const { status, code, number, message, hint, cause, fix, retry } = errorOf(reason);
  const ids = operations.filter((operation) => operation.reasons.includes(reason)).map(({ id }) => id);
  const docs = docsOf(reason, publicUrl);
  const issues = reason === 'VALIDATION_FAILED' ? exampleIssues() : undefined;
  return {
    reason,
    status,
    code,
    number,
    message,
    hint,
    cause,
    fix,
    retry: { when: retry, words: retries[retry] },
    operations: ids,
    docs,
    example: failureBody(reason, { path: ids[0] ?? null, requestId: REQUEST_ID, issues, docs }),
  };
};

/** All reasons, by status and then as in the catalogue. `publicUrl` is the address of the service for callers. */
export const explanations = (publicUrl: string | undefined): Explanation[] =>
  reasons.map((reason) => explain(reason, publicUrl)).toSorted((a, b) => a.status - b.status);
