import type { RequestHandler } from 'express';
import type { Access } from '../../contract/index.ts';
import { AppError } from '../errors.ts';
import type { KeyVerifier } from '../key/verifier.ts';

const BEARER = /^Bearer +([^ ]+)$/i;

/**
 * Finds out who calls, and whether they may. A credential that does not work is refused on public procedures too, so
 * that nobody is taken for anonymous without knowing.
 * @throws AppError KEY_…, SCOPE_MISSING
 */
export const authorise =
  (keys: KeyVerifier, access: Access): RequestHandler =>
  async (request, response, next) => {
    const { authorization } = request.headers;
    if (authorization === undefined) {
      if (access !== 'public') throw new AppError('KEY_MISSING');
      next();
      return;
    }
    const key = BEARER.exec(authorization)?.[1];
    if (key === undefined) throw new AppError('KEY_MALFORMED');
    const caller = await keys.verify(key);
    response.locals.caller = caller;
    if (access !== 'public' && !caller.key.scopes.includes(access)) {
      throw new AppError('SCOPE_MISSING', {
        hint: `This operation needs the scope ${access}; the key has ${caller.key.scopes.join(', ')}.`,
      });
    }
    next();
  };
