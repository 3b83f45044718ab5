import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { currentTime } from '../../../base/runtime.ts';
import { contract } from '../../../../contract/index.ts';
import { type Input, option } from './command.ts';

const UNIT_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const DURATION = /^(\d+)([smhd])$/;
/** A hundred years: a longer duration is a typo, and a much longer one exceeds the range of dates. */
const MAX_DAYS = 36_500;

const bounded = (ms: number): number => {
  if (ms > MAX_DAYS * UNIT_MS.d) throw new InvalidArgumentError(`It must be at most ${MAX_DAYS}d ahead.`);
  return ms;
};

/** The milliseconds of a duration such as `90d`, `12h`, `45m` or `30s`. @throws InvalidArgumentError */
export const parseDuration = (text: string): number => {
  const [, amount, unit] = DURATION.exec(text) ?? [];
  if (!unit) throw new InvalidArgumentError('It must be a duration: 90d, 12h, 45m or 30s.');
  return bounded(Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS]);
};

/** The end of a period that begins `now`; null for never. */
export type Expiry = (now: Date) => Date | null;

const Moment = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** A date or a time in ISO 8601; a date means its beginning in UTC. */
const parseMoment = (text: string): number => {
  if (Moment.safeParse(text).success) return Date.parse(text);
  throw new InvalidArgumentError(
    'It must be a duration (90d, 12h, 45m, 30s), a date (2030-12-31, 2030-12-31T18:00:00Z) or never.',
  );
};

/** An instant: a date, which means its beginning in UTC, or a time with its offset. @throws InvalidArgumentError */
export const parseInstant = (text: string): Date => {
  if (Moment.safeParse(text).success) return new Date(text);
  throw new InvalidArgumentError('It must be a date (2026-04-01) or a time (2026-04-01T09:30:00Z).');
};

/** The value of `--expires`: a duration, a date, or `never`. @throws InvalidArgumentError */
export const parseExpiry = (text: string): Expiry => {
  if (text === 'never') return () => null;
  const isDuration = DURATION.test(text);
  const ahead = isDuration ? parseDuration(text) : bounded(parseMoment(text) - currentTime());
  if (ahead <= 0) throw new InvalidArgumentError('It must lie in the future.');
  return isDuration ? (now) => new Date(now.getTime() + ahead) : () => new Date(text);
};

/** The beginning of a period that ends `now`. */
export type StartDate = (now: Date) => Date;

/** The value of `--since`: a duration, or a date. @throws InvalidArgumentError */
export const parseStart = (text: string): StartDate => {
  if (DURATION.test(text)) {
    const ms = parseDuration(text);
    return (now) => new Date(now.getTime() - ms);
  }
  if (!Moment.safeParse(text).success) {
    throw new InvalidArgumentError(
      'It must be a duration (90d, 12h, 45m, 30s) or a date (2026-04-01, 2026-04-01T18:00:00Z).',
    );
  }
  return () => new Date(text);
};

/** The address of a deployment, without a slash at its end. @throws InvalidArgumentError */
export const parseBaseUrl = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw new InvalidArgumentError('It must be an http or https URL.');
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new InvalidArgumentError('It must have no user, query or fragment.');
  }
  return url.href.replace(/\/+$/, '');
};

/** The schema of nicknames. */
export const Nickname = contract.user.updateProfile.body.shape.json.shape.nickname.unwrap();

/** The length limits of a schema's texts, for the help: `1 to 50 characters`. */
export const lengthOf = (schema: z.ZodType): string => {
  const { minLength, maxLength } = schema.meta() ?? {};
  return `${String(minLength)} to ${String(maxLength)} characters`;
};

/** A parser for texts that a schema accepts unchanged. */
export const textOf =
  (schema: z.ZodType<string>) =>
  (text: string): string => {
    const { error } = schema.safeParse(text);
    if (error) throw new InvalidArgumentError(`It ${error.issues.map(({ message }) => message).join('; it ')}.`);
    return text;
  };

/** A parser for comma-separated words of the list `words`. */
export const listOf =
  <Word extends string>(words: readonly Word[]) =>
  (text: string): Word[] =>
    text.split(',').map((given) => {
      const word = words.find((one) => one === given.trim());
      if (!word) throw new InvalidArgumentError(`"${given.trim()}" is none of ${words.join(', ')}.`);
      return word;
    });

/** A parser for whole numbers from 0 to `maximum`. */
export const wholeNumberUpTo =
  (maximum: number) =>
  (text: string): number => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number <= maximum) return number;
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${maximum}.`);
  };

const parseKey = (text: string): string => {
  if (/^[\x21-\x7e]*$/.test(text)) return text;
  throw new InvalidArgumentError('It must be an API key.');
};

/** `--key`, an API key, or `GATEWAY_KEY`. An empty text counts as no key: pipelines pass it for a missing secret. */
export const keyOption = (description: string): Input<string | undefined> =>
  option('<key>', `${description} Prefer the variable, since others can see command lines`, {
    parse: parseKey,
    env: 'GATEWAY_KEY',
  });
