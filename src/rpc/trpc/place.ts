import type { Request } from 'express';
import { parametersHint } from '../../suggestions/query.ts';
import type { Procedure } from '../procedures.ts';
import { AppError } from '../../errors.ts';

/** The failure of a call that brought no parameters, with a word on where they go, if that is what it lacks. */
export const withPlace = (error: unknown, procedure: Procedure, { method, query }: Request): unknown => {
  if (!(error instanceof AppError) || error.reason !== 'VALIDATION_FAILED') return error;
  const { input: _, batch: __, ...others } = query;
  const hint = parametersHint(method, others, procedure);
  return hint === undefined ? error : new AppError(error.reason, { ...error.details, hint });
};
