import { pointerOf } from '../../../../contract/issues.ts';
import type { Exchange } from '../exchange.ts';

/** One difference of a deployment from the contract. */
export interface Finding {
  expected: string;
  came: string;
  /** JSON pointer (RFC 6901) into the body of the reply. */
  at?: string;
  /** The request, and the `X-Request-Id` by which the operator finds it in the log. */
  exchange?: Exchange;
  /** The number of faulty replies, and of all that were examined. */
  share?: { faulty: number; of: number };
  /** The common cause of findings that look different. */
  cause?: string;
}

const MAX_SHOWN = 100;

/** The error of a check when the deployment differs from the contract. */
export class Mismatch extends Error {
  readonly findings: readonly Finding[];

  constructor(findings: readonly Finding[]) {
    super('The deployment is not as the contract says.');
    this.name = 'Mismatch';
    this.findings = findings;
  }
}

/** The error of a check that cannot run here; the message says why. */
export class Skip extends Error {}

/** A value in at most 100 characters. */
export const show = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN).toWellFormed()}…` : text;
};

/** The text of a finding, without its place. */
export const differenceOf = ({ expected, came, at, share }: Finding): string => {
  const place = at === '' ? 'the body' : at;
  const likewise = share === undefined ? '' : `, likewise in ${share.faulty} of ${share.of} replies`;
  return `${place === undefined ? '' : `${place}: `}expected ${expected}, came ${came}${likewise}`;
};

/** A finding about a subject in one line. */
export const sentenceOf = (finding: Finding, about: string): string => {
  const { exchange } = finding;
  if (!exchange) return differenceOf(finding);
  const to = exchange.subject === about ? '' : ` to ${exchange.subject}`;
  return `${differenceOf(finding)} (request ${exchange.requestId}${to})`;
};

type ObjectMembers = Record<string, unknown>;

const isMembers = (value: unknown): value is ObjectMembers => typeof value === 'object' && value !== null;

/**
 * The differences of two JSON values, each with a pointer that starts with `at`. With `more: 'allowed'`, objects may
 * have further members.
 */
export const differences = (
  expected: unknown,
  came: unknown,
  at: string,
  { more }: { more: 'allowed' | 'refused' } = { more: 'refused' },
): Finding[] => {
  const alike = isMembers(expected) && isMembers(came) && Array.isArray(expected) === Array.isArray(came);
  if (!alike) return Object.is(expected, came) ? [] : [{ expected: show(expected), came: show(came), at }];
  const names = new Set(Object.keys(expected));
  if (more === 'refused' || Array.isArray(expected)) Object.keys(came).forEach((name) => names.add(name));
  return [...names].flatMap((name) => differences(expected[name], came[name], at + pointerOf([name]), { more }));
};
