import type { Access } from '../../contract/index.ts';
import { AppError } from '../base/errors.ts';
import { credentialMistake } from '../auth/credential-hints.ts';
import type { Caller, KeyVerifier, KeyLookUp } from '../auth/verifier.ts';
import type { RequestContext } from './request-context.ts';

const BEARER = /^Bearer +([^ ]+)$/i;

/** The key in an `Authorization` header. @throws AppError KEY_MALFORMED */
export const keyIn = (authorization: string): string => {
  const key = BEARER.exec(authorization)?.[1];
  if (key === undefined) throw new AppError('KEY_MALFORMED', { hint: credentialMistake(authorization) });
  return key;
};

/**
 * Verifies an `Authorization` header. A credential that does not work is refused on public procedures too, so that a
 * caller is never taken for anonymous by mistake.
 * @throws AppError KEY_MALFORMED, KEY_UNKNOWN, KEY_REVOKED, KEY_EXPIRED, USER_SUSPENDED, and the errors of `lookUp`
 */
export const identify = async (keys: KeyVerifier, authorization: string, lookUp?: KeyLookUp): Promise<Caller> =>
  keys.verify(keyIn(authorization), lookUp);

/** The error of a call without a credential. `elsewhere` names a place of a key that is not read. */
const keyMissing = (elsewhere: string | undefined): AppError =>
  new AppError('KEY_MISSING', {
    ...(elsewhere !== undefined && {
      hint: `A key is not read from ${elsewhere}. Send it in the header \`Authorization: Bearer <API_KEY>\`.`,
    }),
  });

/** @throws AppError KEY_MISSING, SCOPE_MISSING when the caller may not call a procedure of this access */
export const assertAccess = (
  access: Access,
  caller: Caller | undefined,
  { keyElsewhere }: Pick<RequestContext, 'keyElsewhere'> = {},
): void => {
  if (access === 'public') return;
  if (!caller) throw keyMissing(keyElsewhere?.());
  const { scopes } = caller.key;
  if (!scopes.includes(access)) {
    throw new AppError('SCOPE_MISSING', {
      hint: `This operation needs the scope ${access}; the key has ${scopes.join(', ')}.`,
    });
  }
};
