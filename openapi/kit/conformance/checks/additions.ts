import { ErrorResponse } from '../../../../contract/index.ts';
import { type Check, openCheck, SERVICE } from '../check.ts';
import { strict } from '../contract/strict.ts';
import type { Change } from '../document/change.ts';
import type { Reply } from '../exchange.ts';
import { unknownMembers } from '../findings/expect.ts';
import { type Finding, Mismatch } from '../findings/finding.ts';
import { valueAt } from '../values.ts';
import type { VerifySession } from '../session.ts';
import { valuesOf } from './streams.ts';

// Members of replies that the contract does not know. Replies are open: a newer service may add some.

const Failure = strict(ErrorResponse);

/** The unknown members of one reply. */
const unknownIn = (reply: Reply, { operations }: VerifySession): Finding[] => {
  const { subject, status, json, text } = reply;
  if (valueAt(json, ['error']) !== undefined) return unknownMembers(Failure, json);
  if (status !== 200) return [];
  const operation = operations.find(({ id }) => id === subject);
  if (!operation || (!operation.isStream && valueAt(json, ['result']) === undefined)) return [];
  const successes = operation.isStream ? valuesOf(text) : [json];
  return successes.flatMap((success) => unknownMembers(operation.strictSuccess, success));
};

/** `200 /result/data/json/items/*`: a place in the replies of an operation, as in differences of documents. */
const placeOf = ({ status }: Reply, { at = '' }: Finding): string =>
  `${status} ${at.replaceAll(/\/[0-9]+(?=\/|$)/g, '/*')}`;

/** The unknown members of all replies about a subject, each once, by their places. */
const additionsOf = (session: VerifySession, subject: string): ReadonlyMap<string, Finding> => {
  const found = new Map<string, Finding>();
  for (const reply of session.client.replies) {
    if (reply.subject !== subject) continue;
    for (const finding of unknownIn(reply, session)) {
      const place = placeOf(reply, finding);
      if (!found.has(place)) found.set(place, { ...finding, exchange: reply });
    }
  }
  return found;
};

const subjectsOf = ({ operations }: VerifySession): string[] => [SERVICE, ...operations.map(({ id }) => id)];

/** Checks that no reply exceeds the contract, where that is a fault. They need the replies to all other checks. */
export const additionChecks = (session: VerifySession): Check[] =>
  session.strict
    ? subjectsOf(session).map((subject) =>
        openCheck(subject, 'answers no member that the contract does not know', async () => {
          const additions = additionsOf(session, subject);
          if (additions.size > 0) throw new Mismatch([...additions.values()]);
        }),
      )
    : [];

/** The unknown members of all replies of a run, as changes that break no client. */
export const additionsTo = (session: VerifySession): Change[] =>
  subjectsOf(session).flatMap((operation) =>
    [...additionsOf(session, operation)].map(([where, { expected, came }]) => ({
      operation,
      where,
      node: where,
      expected,
      came,
      breaks: false,
    })),
  );
