import type { Check } from './check.ts';
import { additionChecks } from './checks/additions.ts';
import { clientDocumentChecks } from './checks/document.ts';
import { effectChecks } from './checks/effects.ts';
import { repetitionChecks } from './checks/write/idempotency.ts';
import { refusalChecks } from './checks/refusals.ts';
import { replyChecks } from './checks/replies.ts';
import { serviceChecks } from './checks/service.ts';
import { streamChecks } from './checks/streams.ts';
import { successChecks } from './checks/success.ts';
import type { VerifySession } from './session.ts';

/**
 * The checks of a run about these subjects, or about all, in the order in which they have to be made: those at the end
 * look at the replies to all before.
 */
export const planChecks = (session: VerifySession, only?: readonly string[]): Check[] => {
  const isWanted = (subject: string): boolean => only?.includes(subject) ?? true;
  const operations = session.operations.filter(({ id }) => isWanted(id));
  const ofOperations = operations.flatMap((operation) => [
    ...successChecks(operation, session),
    ...effectChecks(operation, session),
    ...repetitionChecks(operation, session),
    ...refusalChecks(operation, session),
  ]);
  const all = [
    ...serviceChecks(session),
    ...ofOperations,
    ...streamChecks(session),
    ...replyChecks(session),
    ...additionChecks(session),
    ...clientDocumentChecks(session),
  ];
  return all.filter(({ subject }) => isWanted(subject));
};
