/** An option, an input or a variable of the environment makes no sense. Its text shows no value that may be secret. */
export class UsageError extends TypeError {
  override readonly name = 'UsageError';
}
