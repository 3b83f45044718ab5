import type { Access } from '../../contract/index.ts';
import { AppError } from '../base/errors.ts';
import { credentialMistake } from '../auth/credential-hints.ts';
import type { RequestState } from '../http/message/request-state.ts';

const BEARER = /^Bearer +([^ ]+)$/i;

/**
 * The key in an `Authorization` header. A credential that does not work is refused on public procedures too, so that a caller is
 * never taken for anonymous by mistake.
 * @throws AppError KEY_MALFORMED
 */
export const keyIn = (authorization: string): string => {
  const key = BEARER.exec(authorization)?.[1];
  if (key === undefined) throw new AppError('KEY_MALFORMED', { hint: credentialMistake(authorization) });
  return key;
};

/** The error of a call without a credential. `elsewhere` names a place of a key that is not read. */
const keyMissing = (elsewhere: string | undefined): AppError =>
  new AppError('KEY_MISSING', {
    ...(elsewhere !== undefined && {
      hint: `A key is not read from ${elsewhere}. Send it in the header \`Authorization: Bearer <API_KEY>\`.`,
    }),
  });

/** @throws AppError KEY_MISSING, SCOPE_MISSING when the caller may not call a procedure of this access */
export const assertAccess = (access: Access, request: RequestState): void => {
  if (access === 'public') return;
  const { caller } = request;
  if (!caller) throw keyMissing(request.keyElsewhere());
  const { scopes } = caller.key;
  if (!scopes.includes(access)) {
    throw new AppError('SCOPE_MISSING', {
      hint: `This operation needs the scope ${access}; the key has ${scopes.join(', ')}.`,
    });
  }
};
