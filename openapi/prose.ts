import { type Contract, idempotencyKey, idempotencyReplayed, KEY_LENGTH, KEY_PREFIX } from '../contract/index.ts';
import { facts } from './facts.ts';

/** The descriptions of the tags, one for each router. */
export const tagDescriptions: Record<keyof Contract, string> = {
  game: 'Publish, list and read games; favorite and react to them; count their types; find related ones.',
  image: 'Publish, list, read and change image posts; favorite and react to them.',
  user: 'Read and search users, and change your own profile.',
  event: 'Follow the changes of games, image posts, users and tags.',
  webhook: 'Have changes sent to a URL of yours.',
  apiKey: 'Manage your keys, see what they are used for, and why calls failed.',
  consumerContract: 'Publish what your client needs of the service.',
};

/** The head of the document: the facts that callers need for all operations, in Markdown. */
export const introduction = (): string => `An API for **games**, **image posts** and **users**.

Every operation is \`POST /api/trpc/<router>.<procedure>\`. This introduction has what all of them share. The service that
hosts this document explains each topic in a guide with examples, from \`/guides/start\` on.

## Authentication

Send your API key as \`Authorization: Bearer <API_KEY>\`. A key is \`${KEY_PREFIX}\` and ${KEY_LENGTH} letters and digits. The operator of the
service issues it, with one or more scopes. No scope includes another:

${facts.scopes}

All other operations are public. A key is optional there; with one, \`viewer\` in each record shows your favorite and your reaction. A
key that is not valid is always refused with 401, never ignored.

Guide: \`/guides/keys\`.

## Requests

The body is a JSON object in UTF-8 with the parameters in \`json\`, sent with \`Content-Type: application/json\`:

\`\`\`json
{"json": {"limit": 20, "page": 1}}
\`\`\`

Unknown members are refused, not ignored. Operations without parameters also accept an empty body.

Lengths of texts count Unicode code points. Stored texts, such as titles and names, are a single line: they contain no control
characters, no line breaks, no characters that change the direction of writing (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to
U+2069) and no U+FEFF. \`description\` and \`bio\` may contain tabs, line breaks, U+061C, U+200E and U+200F. A \`pattern\` in this document
is a regular expression over Unicode characters, and its \`$\` matches only at the very end.

## Replies

A success has status 200 and the output in \`result.data.json\`:

\`\`\`json
{"result": {"data": {"json": {"items": [], "total": 0}}}}
\`\`\`

Records always have all their members; what is absent is \`null\`. New members may be added, so ignore those you do not know. Times are in
UTC, as ISO 8601 with milliseconds. Treat ids as opaque.

## Paging

\`game.list\` and \`image.list\` take \`limit\` and \`page\`, counted from 1, as far as page × limit = ${facts.MAX_PAGE_DEPTH}. To go deeper, or to
walk through everything without missing a record, send the \`nextCursor\` of each reply as \`cursor\`, with the same filters and sort
order, until it is \`null\`. \`total\` is exact if \`totalRelation\` is \`eq\`, and a minimum if it is \`gte\`.

Guides: \`/guides/paging\`, \`/guides/searching\`.

## Errors

Every failure has the same shape:

\`\`\`json
{"error": {"json": {"message": "There is no game with this id.", "code": -32004, "data": {
  "code": "NOT_FOUND", "httpStatus": 404, "path": "game.getById", "reason": "GAME_NOT_FOUND",
  "requestId": "019a3c5e-c260-7f96-8a63-ae51df72b306"}}}}
\`\`\`

Branch on \`data.reason\`, which is stable; new reasons may be added. \`message\` and \`data.hint\` are for people. With \`VALIDATION_FAILED\`,
\`data.issues\` lists every fault of the input. \`data.docs\` is the address of the explanation. Quote
\`data.requestId\` when you report a problem.

Guide: \`/guides/errors\`. The pages \`/errors\` and, for programs, \`/errors.json\` explain each reason.

<details><summary>All reasons</summary>

${facts.reasons}
</details>

## Limits

You are counted by your key or, without one, by your address. All keys of a user together have ${facts.USER_FACTOR} times the rates of one.
These are the usual rates; the operator may have set others, or none:

${facts.rates}

What you use comes back steadily. A batch counts as much as its calls, and \`batchCreate\` as one write and a tenth more for each record.
Every reply says in \`RateLimit-Policy\` which rates apply, and in \`RateLimit\` what is left of the scarcest. A call over a rate fails with
429 \`RATE_LIMITED\` and costs nothing: repeat it after the seconds in \`Retry-After\`.

A user may create ${facts.DAILY_TAGS} new tags and ${facts.DAILY_GAME_TYPES} new game types per day, until midnight UTC; a call that
would create more fails with 429 \`QUOTA_EXCEEDED\` and stores nothing. A view counts once per address and record in ${facts.VIEW_MINUTES} minutes.

Guide: \`/guides/limits\`.

## Repeating a write

If a write gets no answer, it may have happened or not. Send every write with an \`${idempotencyKey.name}\`, a new value such as a UUID for
each thing you want done, and repeat it with the same value until it is answered. It is done once; a repetition gets the first answer
again, with the header \`${idempotencyReplayed.name}: true\`.

- A success is remembered for ${facts.IDEMPOTENCY_HOURS} hours, per API key and operation, even through a crash. A refused request leaves the
  value unused: mend the input and send the same value.
- The same value with another input fails with \`IDEMPOTENCY_MISMATCH\`. Leaving out a member is not the same as sending its default.
- While the first request is running, a second one may fail with \`IDEMPOTENCY_IN_PROGRESS\`: repeat it after \`Retry-After\`.
- \`X-Should-Retry\` says whether to repeat a request where the status alone misleads. With \`OUTCOME_UNKNOWN\` and no
  \`${idempotencyKey.name}\` it is \`false\`: a repetition might store the same thing twice.

Guide: \`/guides/retries\`.

## tRPC

The wire is that of a tRPC server with the superjson transformer. An unmodified \`@trpc/client\`, version 11 or 10, works with
\`httpLink\`, \`httpBatchLink\` and \`httpBatchStreamLink\`, at the address of this service followed by \`/api/trpc\`. That includes reads by GET
and batches of up to ${facts.MAX_BATCH_CALLS} calls, which this document leaves out.

Guide: \`/guides/trpc\`.
`;
