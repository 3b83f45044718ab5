import {
  ANSWER_LIMIT,
  BATCH_BODY_LIMIT,
  type Contract,
  errors,
  IDEMPOTENCY_HOURS,
  idempotencyKey,
  idempotencyReplayed,
  inBytes,
  KEY_LENGTH,
  KEY_PREFIX,
  MAX_BATCH_CALLS,
  MAX_PAGE_DEPTH,
  procedures,
  READ_BODY_LIMIT,
  type Scope,
  scopes,
} from '../contract/index.ts';

const code = (text: string | number): string => `\`${text}\``;

/** A Markdown table. */
const table = (head: string[], rows: string[][]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

const operationsOf = (scope: Scope): string =>
  procedures
    .filter(({ access }) => access === scope)
    .map(({ id }) => code(id))
    .join(', ');

const scopeTable = () =>
  table(
    ['Scope', 'Operations'],
    scopes.map((scope) => [code(scope), operationsOf(scope)]),
  );

const errorTable = () =>
  table(
    ['`data.reason`', 'HTTP status', '`data.code`', '`code`', 'Message'],
    Object.entries(errors).map(([reason, entry]) => [
      code(reason),
      String(entry.status),
      code(entry.code),
      code(entry.number),
      entry.message,
    ]),
  );

/** What each tag, that is each router, is about. */
export const tagDescriptions: Record<keyof Contract, string> = {
  game: 'Publish, list, read and favor games, react to them, count their types and find related ones.',
  image: 'Publish, list, read, change and favor image posts, and react to them.',
  user: 'Read and search users, and change one’s own profile.',
};

/** The head of the document: what a caller must know of every operation, in Markdown. */
export const introduction = (): string => `A content service: **games**, **image posts** and **users**.

Every operation is \`POST /api/trpc/<router>.<procedure>\`.

## Authentication

Send the API key as \`Authorization: Bearer <API_KEY>\`. A key is ${code(KEY_PREFIX)} followed by ${KEY_LENGTH} letters and digits; the operator of
the service issues it, with one or more scopes. None implies another:

${scopeTable()}

All other operations are public. There a key is optional: with one, records tell in \`viewer\` how its user relates to
them. A key that is not valid is refused everywhere with status 401, never ignored.

## Requests

The body is a JSON object in UTF-8 with one member \`json\` that holds the parameters, sent with
\`Content-Type: application/json\`:

\`\`\`json
{"json": {"limit": 20, "page": 1}}
\`\`\`

Unknown members are refused and named. Lengths of texts count Unicode code points. Operations without parameters also
take an empty body.

Titles, names and all other texts that are stored are one line: without control characters, line breaks, the characters that
turn the direction of writing (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069) and U+FEFF. \`description\` and \`bio\` may
have tabs, line breaks and the marks U+061C, U+200E and U+200F. A \`pattern\` of this document is a regular expression over Unicode
characters whose \`$\` matches at the very end only.

## Replies

A success has status 200 and the output in \`result.data.json\`:

\`\`\`json
{"result": {"data": {"json": {"items": [], "total": 0}}}}
\`\`\`

Members of records are always present; what is absent is \`null\`. New members may be added: ignore those you do not know. Times are
UTC, in ISO 8601 with milliseconds. Ids are opaque.

## Paging

\`game.list\` and \`image.list\` take \`limit\` and \`page\`, which starts at 1; page × limit reaches to ${MAX_PAGE_DEPTH}. For deeper pages, and to
walk through all records without missing one, pass the \`nextCursor\` of each reply as \`cursor\` of the next request, with the same
filters and sort mode, until it is \`null\`. \`total\` counts the matches: exactly where \`totalRelation\` is ${code('eq')}, at least so many
where it is ${code('gte')}.

## Errors

Every failure has the same shape:

\`\`\`json
{"error": {"json": {"message": "There is no game with this id.", "code": -32004, "data": {
  "code": "NOT_FOUND", "httpStatus": 404, "path": "game.getById", "reason": "GAME_NOT_FOUND",
  "requestId": "019a3c5e-c260-7f96-8a63-ae51df72b306"}}}}
\`\`\`

Branch on \`data.reason\`, which is stable; show \`message\` and \`data.hint\` to people. After \`VALIDATION_FAILED\`, \`data.issues\` lists
every fault of the input. Quote \`data.requestId\` when you report a problem.

<details><summary>All reasons</summary>

${errorTable()}
</details>

## Repeating a write

A request that got no answer may have been done or not. Send every write with a header \`${idempotencyKey.name}\`, a new value such as a
UUID for each thing to be done, and repeat it with the same one until it is answered: it is done once.

- What was done before is answered as it was then, to the letter, with the header \`${idempotencyReplayed.name}: true\`. So is a
  repetition after a restart or a crash of the service.
- A success is remembered for ${IDEMPOTENCY_HOURS} hours, for the API key and the operation. A refused request leaves the value unused: after
  ${code('VALIDATION_FAILED')}, mend the input and use it again.
- Another input with the same value is refused with ${code('IDEMPOTENCY_MISMATCH')}. Equal inputs are equal JSON values, however they are
  written; a member that is left out and one that is sent with its default are not the same.
- While the first request is being worked on, a second one may be refused with ${code('IDEMPOTENCY_IN_PROGRESS')}: repeat it after
  \`Retry-After\`.
- \`X-Should-Retry\` says whether to repeat a request where the status alone misleads. ${code('OUTCOME_UNKNOWN')} without an \`${idempotencyKey.name}\`
  has \`false\`: what was not repeatable may be stored twice.
- Reads ignore the header.

## tRPC

The wire is that of a tRPC server with the superjson transformer, so an unmodified \`@trpc/client\`, version 11 or 10, works
too: \`httpLink\`, \`httpBatchLink\` and \`httpBatchStreamLink\`, with the address of this service followed by \`/api/trpc\`. For it
there are also:

- reads by GET, with \`?input=\` and the URL-encoded \`{"json": {…}}\`. Without a key the reply may be cached for a second and has
  an \`ETag\`.
- batches: \`POST /api/trpc/game.getById,user.me?batch=1\` with \`{"0": {"json": {…}}, "1": {…}}\`, at most ${MAX_BATCH_CALLS} calls and, where all
  of them read, ${inBytes(READ_BODY_LIMIT)}, else ${inBytes(BATCH_BODY_LIMIT)}. The reply is a
  list in the order of the calls; its status is theirs where all agree, else 207. It holds at most ${inBytes(ANSWER_LIMIT)}: calls whose
  answers no longer fit fail with ${code('ANSWER_TOO_LARGE')}, and have stored nothing.
- batches as JSON lines, with the request header \`trpc-accept: application/jsonl\`.
- \`${idempotencyKey.name}\` with a batch: it stands for each write together with its place, so that equal calls are all done. Repeat
  the batch as a whole. The reply has \`${idempotencyReplayed.name}\` when any of its calls was done before.
- the annotation \`undefined\` in \`meta\`. All others are ignored.
`;
