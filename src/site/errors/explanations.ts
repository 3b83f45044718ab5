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

/** All that there is to know of a reason. Texts are sentences in Markdown of which only code spans are used. */
export interface Explanation {
  /** `data.reason` */
  reason: Reason;
  /** The HTTP status. */
  status: number;
  /** `data.code`, a code of tRPC's. */
  code: string;
  /** `code`, a number as JSON-RPC has them. */
  number: number;
  /** The error message. */
  message: string;
  /** The hint, in a line; a reply may have a more precise one. */
  hint: string;
  /** When this happens. */
  cause: string;
  /** How to fix it. */
  fix: string;
  /** Whether it helps to send the same request again: one of a few values, and the same in words. */
  retry: { when: Retry; words: string };
  /** The ids of the operations that can answer it. Of those reasons that are about no single operation there are none. */
  operations: string[];
  /** `data.docs` */
  docs: string;
  /** A reply's body. */
  example: ErrorResponse;
}

const REQUEST_ID = '019a3c5e-c260-7f96-8a63-ae51df72b306';

/** The issues of the first operation whose input may not be empty, for one that is. */
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

/** All reasons, by status and then as in the catalogue. `publicUrl` is where callers reach the service. */
export const explanations = (publicUrl: string | undefined): Explanation[] =>
  reasons.map((reason) => explain(reason, publicUrl)).toSorted((a, b) => a.status - b.status);
