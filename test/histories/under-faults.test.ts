/**
 * @engines sqlite server vitess
 * @tier fault
 * @needs go redis faketime
 */
import { test } from '@jest/globals';
import { engine } from '../harness/app/database.ts';
import { expectAllowed } from './judged.ts';

// Whole histories: all that clients asked and were answered while the service and all that it needs were harmed.

/** `npm run histories` names other servers of the engine. */
const { HISTORY_DATABASES = engine } = process.env;

test('a history under faults is one that the promises allow', () => expectAllowed(HISTORY_DATABASES));
