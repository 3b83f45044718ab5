import { errorOf } from '../../../../contract/index.ts';
import { ConfigError } from '../../../config/config.ts';
import { AppError, DATABASE_FAULTS } from '../../../base/errors.ts';
import { CommandError } from './common.ts';

/** The error messages for the operator, a line each. */
export const faultsOf = (error: unknown): string[] => {
  if (error instanceof ConfigError || error instanceof CommandError) return error.message.split('\n');
  if (error instanceof AppError) {
    const { message } = errorOf(error.reason);
    const { fault, hint = fault && DATABASE_FAULTS[fault] } = error.details;
    return [hint === undefined ? message : `${message.replace(/\.$/, '')}: ${hint}`];
  }
  const { message = String(error) } = error as Partial<Error>;
  return [message.split('\n', 1).join('')];
};

/** The same in a line. */
export const describeFault = (error: unknown): string => faultsOf(error).join('; ');
