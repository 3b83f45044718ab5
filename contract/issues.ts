import type { z } from 'zod';
import type { Issue } from './errors.ts';
import { excerptOf, MAX_EXCERPT } from './excerpt.ts';
import { MAX_ISSUES } from './limits.ts';
import { holdsKey } from './masking.ts';

/** A JSON pointer (RFC 6901). */
export const pointerOf = (path: readonly PropertyKey[]): string =>
  path.map((member) => `/${String(member).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** zod's path begins in the envelope, ours in `json`. */
const inJson = (path: readonly PropertyKey[]): readonly PropertyKey[] => (path[0] === 'json' ? path.slice(1) : path);

/** Returns the advice that follows an issue's message; for an unknown member, by its name. Called for one after another. */
export type Advise = (issue: z.core.$ZodIssue, member?: string) => string | undefined;

const codeOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'custom' && typeof issue.params?.['code'] === 'string' ? issue.params['code'] : issue.code;

const messageOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'invalid_key'
    ? `is not a usable name: it ${issue.issues[0]?.message ?? issue.message}`
    : issue.message;

/** The reason why a pointer leaves a name out: its length, or an API key in it. */
const unnameable = (name: PropertyKey): string | undefined => {
  if (typeof name !== 'string') return undefined;
  if (name.length > MAX_EXCERPT) return `a member whose name has ${name.length} characters`;
  return holdsKey(name) ? 'a member whose name holds an API key' : undefined;
};

/** An issue at a path or, where a name on the way cannot be shown, at what holds it. */
const issueAt = (path: readonly PropertyKey[], code: string, message: string): Issue => {
  const hidden = path.findIndex((name) => unnameable(name) !== undefined);
  if (hidden === -1) return { path: pointerOf(path), code, message };
  return {
    path: pointerOf(path.slice(0, hidden)),
    code,
    message: `must not hold ${unnameable(path[hidden] as PropertyKey)}`,
  };
};

const withAdvice = (message: string, advice: string | undefined): string =>
  advice === undefined ? message : `${message}; ${advice}`;

/** The faults that zod found in a request, as they go on the wire. */
export const issuesOf = (found: readonly z.core.$ZodIssue[], advise: Advise = () => undefined): Issue[] => {
  const issues: Issue[] = [];
  for (const issue of found) {
    if (issues.length >= MAX_ISSUES) break;
    const path = inJson(issue.path);
    if (issue.code !== 'unrecognized_keys') {
      issues.push(issueAt(path, codeOf(issue), withAdvice(messageOf(issue), advise(issue))));
      continue;
    }
    const inEnvelope = issue.path.length === 0;
    for (const key of issue.keys.slice(0, MAX_ISSUES)) {
      const advice = advise(issue, key);
      issues.push(
        inEnvelope
          ? issueAt(
              [],
              issue.code,
              withAdvice(`must not hold ${unnameable(key) ?? excerptOf(key)} beside \`json\``, advice),
            )
          : issueAt([...path, key], issue.code, withAdvice('is not a member of this input', advice)),
      );
    }
  }
  return issues.slice(0, MAX_ISSUES);
};
