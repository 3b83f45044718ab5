import type { z } from 'zod';
import type { Issue } from './errors.ts';
import { MAX_ISSUES } from './limits.ts';

/** A JSON pointer (RFC 6901). */
export const pointerOf = (path: readonly PropertyKey[]): string =>
  path.map((member) => `/${String(member).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** zod's path begins in the envelope, ours in `json`. */
const inJson = (path: readonly PropertyKey[]): readonly PropertyKey[] => (path[0] === 'json' ? path.slice(1) : path);

const codeOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'custom' && typeof issue.params?.['code'] === 'string' ? issue.params['code'] : issue.code;

const messageOf = (issue: z.core.$ZodIssue): string => {
  if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined')) return 'is required';
  if (issue.code === 'invalid_key') return `is a faulty name: it ${issue.issues[0]?.message ?? issue.message}`;
  return issue.message;
};

/** The faults that zod found in a request, as they go on the wire. */
export const issuesOf = (found: readonly z.core.$ZodIssue[]): Issue[] => {
  const issues: Issue[] = [];
  for (const issue of found) {
    if (issues.length >= MAX_ISSUES) break;
    const path = inJson(issue.path);
    if (issue.code !== 'unrecognized_keys') {
      issues.push({ path: pointerOf(path), code: codeOf(issue), message: messageOf(issue) });
      continue;
    }
    const inEnvelope = issue.path.length === 0;
    for (const key of issue.keys.slice(0, MAX_ISSUES)) {
      issues.push(
        inEnvelope
          ? { path: '', code: issue.code, message: `unknown member ${JSON.stringify(key)} beside \`json\`` }
          : { path: pointerOf([...path, key]), code: issue.code, message: 'is not a member of this input' },
      );
    }
  }
  return issues.slice(0, MAX_ISSUES);
};
