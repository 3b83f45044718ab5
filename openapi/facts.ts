import {
  ANSWER_LIMIT,
  ANSWERED_BYTES_PER_MS,
  BATCH_BODY_LIMIT,
  DAILY_GAME_TYPES,
  DAILY_KEPT_ANSWERS,
  DAILY_TAGS,
  type DeprecatedPart,
  type Deprecation,
  errors,
  FAILED_CALL_HOURS,
  IDEMPOTENCY_HOURS,
  inBytes,
  KEY_LENGTH,
  KEY_PREFIX,
  lengths,
  MAX_BATCH_CALLS,
  MAX_BATCH_RECORDS,
  MAX_FILTER_TAGS,
  MAX_FOUND_USERS,
  MAX_FAILED_CALLS,
  MAX_ISSUES,
  MAX_PAGE_DEPTH,
  MAX_PAGE_SIZE,
  MAX_TAILS,
  MAX_SUMMARY_IMAGES,
  type Operation,
  operations,
  procedures,
  RATE_SECONDS,
  READS_PER_HIGH_COST,
  type RateName,
  rates,
  READ_BODY_LIMIT,
  type Scope,
  scopes,
  SENT_BYTES_PER_MS,
  SITE_FACTOR,
  timeRangeDays,
  UNKNOWN_KEYS,
  USER_FACTOR,
  VIEW_SECONDS,
  WRITE_BODY_LIMIT,
} from '../contract/index.ts';

// Facts of the contract for texts: the introduction of the document and the guides use them.

export const code = (text: string | number): string => `\`${text}\``;

const number = (value: number): string => value.toLocaleString('en-US');

/** A Markdown table. */
const table = (head: string[], rows: string[][]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

const highCost = procedures
  .filter(({ cost }) => cost === 'high')
  .map(({ id }) => code(id))
  .join(', ');

/** The calls that each rate counts. */
const rateWords: Record<RateName, string> = {
  read: `Reads with a key; ${highCost} counts as ${READS_PER_HIGH_COST}`,
  anonymous: 'Reads without a key, counted likewise',
  write: 'Writes',
  search: 'Searches: `game.list` and `image.list` with `search`, and `user.search`. Each also counts as a read',
  work: `Milliseconds of work: the time a call takes, plus one for every ${inBytes(SENT_BYTES_PER_MS)} you send and every ${inBytes(ANSWERED_BYTES_PER_MS)} you receive`,
};

const rateTable = table(
  ['Name', `In ${RATE_SECONDS} seconds`, 'What counts'],
  Object.entries(rateWords).map(([name, words]) => [code(name), number(rates[name as RateName]), words]),
);

const operationsOf = (scope: Scope | 'public'): string =>
  operations
    .filter(({ access }) => access === scope)
    .map(({ id }) => code(id))
    .join(', ');

const scopeTable = table(
  ['Scope', 'Operations'],
  scopes.map((scope) => [code(scope), operationsOf(scope)]),
);

const reasonTable = table(
  ['`data.reason`', 'Status', 'Meaning'],
  Object.entries(errors).map(([reason, { status, message }]) => [code(reason), String(status), message]),
);

const deprecationRow = (what: string, { since, sunset = '', use }: Deprecation): string[] => [what, since, sunset, use];

/** `label` of `shelf.list`; for a value of a member: `newest` as `order` of `shelf.list`. */
const partRow = ({ id }: Operation, { path, value, deprecation }: DeprecatedPart): string[] => {
  const member = code(path.filter((step) => step !== '*').join('.'));
  return deprecationRow(`${value === undefined ? member : `${code(value)} as ${member}`} of ${code(id)}`, deprecation);
};

/** A table of the deprecations of these operations, or a word for none. */
export const deprecationTable = (all: readonly Operation[]): string => {
  const rows = all.flatMap((operation) => {
    const { id, deprecated, deprecatedParts } = operation;
    return [
      ...(deprecated === undefined ? [] : [deprecationRow(code(id), deprecated)]),
      ...[...deprecatedParts.input, ...deprecatedParts.output].map((part) => partRow(operation, part)),
    ];
  });
  return rows.length === 0 ? 'nothing.' : table(['What', 'Since', 'Ends on', 'Use instead'], rows);
};

const bodyTable = table(
  ['What you call', 'Largest body'],
  [
    ['a read', inBytes(READ_BODY_LIMIT)],
    ['a write', inBytes(WRITE_BODY_LIMIT)],
    ['`batchCreate`', inBytes(BATCH_BODY_LIMIT)],
    ['a tRPC batch of reads', inBytes(READ_BODY_LIMIT)],
    ['a tRPC batch with writes', inBytes(BATCH_BODY_LIMIT)],
  ],
);

/** The facts by name, as Markdown: words of a line, or tables. */
export const facts = {
  ANSWER_LIMIT: inBytes(ANSWER_LIMIT),
  BATCH_BODY_LIMIT: inBytes(BATCH_BODY_LIMIT),
  DAILY_GAME_TYPES: number(DAILY_GAME_TYPES),
  DAILY_KEPT_ANSWERS: inBytes(DAILY_KEPT_ANSWERS),
  DAILY_TAGS: number(DAILY_TAGS),
  IDEMPOTENCY_HOURS: number(IDEMPOTENCY_HOURS),
  KEY_LENGTH: number(KEY_LENGTH),
  KEY_PREFIX: code(KEY_PREFIX),
  MAX_BATCH_CALLS: number(MAX_BATCH_CALLS),
  MAX_BATCH_RECORDS: number(MAX_BATCH_RECORDS),
  MAX_FILTER_TAGS: number(MAX_FILTER_TAGS),
  MAX_FOUND_USERS: number(MAX_FOUND_USERS),
  MAX_ISSUES: number(MAX_ISSUES),
  MAX_FAILED_CALLS: number(MAX_FAILED_CALLS),
  FAILED_CALL_HOURS: number(FAILED_CALL_HOURS),
  MAX_PAGE_DEPTH: number(MAX_PAGE_DEPTH),
  MAX_PAGE_SIZE: number(MAX_PAGE_SIZE),
  MAX_TAILS: number(MAX_TAILS),
  MAX_SUMMARY_IMAGES: number(MAX_SUMMARY_IMAGES),
  RATE_SECONDS: number(RATE_SECONDS),
  READ_BODY_LIMIT: inBytes(READ_BODY_LIMIT),
  SITE_FACTOR: number(SITE_FACTOR),
  UNKNOWN_KEYS: number(UNKNOWN_KEYS),
  USER_FACTOR: number(USER_FACTOR),
  VIEW_MINUTES: number(VIEW_SECONDS / 60),
  idempotencyKeyLength: number(lengths.idempotencyKey),
  searchLength: number(lengths.search),
  month: number(timeRangeDays.month),
  year: number(timeRangeDays.year),
  operationCount: number(operations.length),
  publicOperations: operationsOf('public'),
  readRate: number(rates.read),
  anonymousRate: number(rates.anonymous),
  writeRate: number(rates.write),
  searchRate: number(rates.search),
  workRate: number(rates.work),
  bodies: bodyTable,
  deprecations: deprecationTable(operations),
  rates: rateTable,
  reasons: reasonTable,
  scopes: scopeTable,
} as const satisfies Record<string, string>;
