const LONGEST_WAIT_S = 60;
const FIRST_BACKOFF_S = 0.5;
const LONGEST_BACKOFF_S = 8;
const JITTER = 0.25;

const STATUSES: readonly number[] = [408, 429, 500, 502, 503, 504];

/** The form of dates in HTTP: others, which `Date.parse` would make something of, are none. */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** The milliseconds since 1970; NaN if this is no date. */
const dateOf = (text: string | null): number => (text !== null && HTTP_DATE.test(text) ? Date.parse(text) : NaN);

/**
 * The seconds that a reply's `Retry-After` asks for, from 0; null if there is none that can be read. A date is measured from
 * the reply's own, so that the clocks of client and service need not agree.
 */
export const retryAfterOf = (headers: Headers, now: () => number): number | null => {
  const text = headers.get('Retry-After');
  if (text === null) return null;
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text);
  const until = dateOf(text);
  if (Number.isNaN(until)) return null;
  const sent = dateOf(headers.get('Date'));
  return Math.max(0, (until - (Number.isNaN(sent) ? now() : sent)) / 1000);
};

/** Whether a failure that the service answered may pass: by its own word, else by what it is. */
export const mayPass = (status: number, headers: Headers, reason: string | undefined): boolean => {
  const word = headers.get('X-Should-Retry')?.toLowerCase();
  if (word === 'true' || word === 'false') return word === 'true';
  return STATUSES.includes(status) || (status === 409 && reason === 'IDEMPOTENCY_IN_PROGRESS');
};

/** The seconds to wait after so many attempts; null if they are too many to wait in a library. */
export const waitAfter = (attempts: number, retryAfter: number | null): number | null => {
  if (retryAfter !== null) return retryAfter < LONGEST_WAIT_S ? retryAfter : null;
  const backoff = Math.min(FIRST_BACKOFF_S * 2 ** (attempts - 1), LONGEST_BACKOFF_S);
  return backoff * (1 - JITTER * Math.random());
};
