import type { Law } from '../../../../contract/laws.ts';
import { type Check, checkOf, type Effects } from '../check.ts';
import type { Operation } from '../contract/operation.ts';
import type { VerifySession } from '../session.ts';
import * as counts from './counts.ts';
import { filters } from './filters.ts';
import { pages } from './pages.ts';
import * as records from './records.ts';
import * as things from './things.ts';
import { toggles } from './toggles.ts';
import * as users from './users.ts';

/** The checks of each law of the contract. */
const laws: Readonly<Record<Law, (operation: Operation, session: VerifySession) => Effects>> = {
  pages,
  filters,
  ...records,
  ...users,
  ...counts,
  ...things,
  toggles,
};

/** The checks of the laws of an operation. */
export const lawChecks = (operation: Operation, session: VerifySession): Check[] =>
  operation.laws
    .flatMap((law) => Object.entries(laws[law](operation, session)))
    .map(([name, run]) => checkOf(operation, 'effect', name, run));
