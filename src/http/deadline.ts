import type { ServerResponse } from 'node:http';
import { Deadline } from '../deadline.ts';
import { AppError } from '../errors.ts';

/**
 * The time for the work on a request, `ms` from now on; it ends when its caller leaves. The time in which a body arrives is
 * the listener's, so that it is to be restarted then.
 */
export const deadlineOf = (response: ServerResponse, ms: number): Deadline => {
  const deadline = new Deadline(ms);
  response.once('close', () => {
    if (response.writableFinished) deadline.close();
    else deadline.end(new AppError('TIMEOUT', { hint: 'The caller has left.' }));
  });
  return deadline;
};
