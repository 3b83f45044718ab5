import {
  ANSWER_LIMIT,
  BATCH_BODY_LIMIT,
  BODY_CODINGS,
  DAILY_GAME_TYPES,
  DAILY_TAGS,
  HEADERS_LIMIT,
  HEADERS_SECONDS,
  IDEMPOTENCY_HOURS,
  inBytes,
  KEY_LENGTH,
  KEY_PREFIX,
  lengths,
  MAX_BATCH_CALLS,
  MAX_CONTRACT_BYTES,
  MAX_CONTRACTS,
  MAX_HEADERS,
  MAX_ISSUES,
  MAX_KEYS,
  MAX_PAGE_DEPTH,
  MAX_SIGNING_SECRETS,
  MAX_WEBHOOKS,
  READ_BODY_LIMIT,
  REQUEST_SECONDS,
  ROTATION_HOURS,
  WRITE_BODY_LIMIT,
} from './limits.ts';

/** Whether it helps to send the same request again, in words. */
export const retries = {
  /** The requested thing does not exist, or is forbidden. */
  no: 'No. The same request gets the same answer.',
  /** Only another request, or another key, helps. */
  'after-fixing': 'Not as it is. Fix the request first.',
  /** The service says when to repeat, and such a failed write has stored nothing. */
  'after-retry-after': 'Yes, after the number of seconds in `Retry-After`.',
  /** The outcome of the write is unknown. */
  'with-idempotency-key':
    'Yes, after the number of seconds in `Retry-After` and with the same `Idempotency-Key`. Without one, look first whether the write was stored.',
  /** The service says neither when to repeat nor whether that helps. */
  'after-a-pause':
    'It may help. Try again after a pause, a few times at most, and a write only with the same `Idempotency-Key`.',
} as const;
export type Retry = keyof typeof retries;

/** The error catalogue's entry for a reason. All texts are sentences in Markdown that use only code spans. */
interface CatalogueEntry {
  /** The HTTP status. */
  readonly status: number;
  /** The tRPC code in `error.json.data.code`. */
  readonly code: string;
  /** The JSON-RPC style number in `error.json.code`. */
  readonly number: number;
  /** The error message, for people: `error.json.message`. */
  readonly message: string;
  /** The hint, in a line: `error.json.data.hint`, unless the error has a more precise one. */
  readonly hint: string;
  /** The circumstances in which this happens. */
  readonly cause: string;
  /** The fix, in more detail than the hint. */
  readonly fix: string;
  /** Whether it helps to send the same request again. */
  readonly retry: Retry;
  /** The same for programs, when the status alone misleads: `X-Should-Retry`. */
  readonly shouldRetry?: boolean;
}

const badRequest = { status: 400, code: 'BAD_REQUEST', number: -32600, retry: 'after-fixing' } as const;
const unauthorized = { status: 401, code: 'UNAUTHORIZED', number: -32001, retry: 'after-fixing' } as const;
const forbidden = { status: 403, code: 'FORBIDDEN', number: -32003 } as const;
const notFound = { status: 404, code: 'NOT_FOUND', number: -32004 } as const;
const unprocessable = { status: 422, code: 'UNPROCESSABLE_CONTENT', number: -32022 } as const;
const invitation = {
  ...notFound,
  hint: 'Ask the operator of the service for another invitation.',
  fix: 'Ask the operator of the service for another invitation.',
  retry: 'no',
} as const;
const tooLarge = { status: 413, code: 'PAYLOAD_TOO_LARGE', number: -32013, retry: 'after-fixing' } as const;
const tooMany = { status: 429, code: 'TOO_MANY_REQUESTS', number: -32029, retry: 'after-retry-after' } as const;
const unavailable = { status: 503, code: 'SERVICE_UNAVAILABLE', number: -32603 } as const;

/** The error catalogue: all `data.reason`s of the service. */
export const errors = {
  MALFORMED_JSON: {
    status: 400,
    code: 'PARSE_ERROR',
    number: -32700,
    message: 'The request body is not valid JSON.',
    hint: 'Send `{"json": {…}}`, encoded as UTF-8.',
    cause:
      'The body, or the `?input=` of a GET, cannot be read as JSON in UTF-8. Usually it is cut short, has a comma too many, was mangled by the quoting of a shell, or is a form rather than JSON.',
    fix: 'Let a JSON library write the body instead of joining strings. On a command line, put the body in single quotes or in a file. If you compress the body, check that it arrives whole.',
    retry: 'after-fixing',
  },
  VALIDATION_FAILED: {
    ...badRequest,
    message: 'The input does not match the schema of this operation.',
    hint: '`issues` lists every fault; each `path` is a JSON pointer into `json`.',
    cause: `A member of the input is missing, unknown, of the wrong type or outside its limits. \`data.issues\` lists every fault, up to ${MAX_ISSUES}.`,
    fix: 'Correct the input at each `path`, as its `message` says. If a member that you did send is called missing, check that it is inside `json`: `{"json": {"limit": 20}}`.',
  },
  // A schema cannot know whether a page or a cursor exists: these are not faults of the input.
  PAGE_TOO_DEEP: {
    ...notFound,
    message: `\`page\` × \`limit\` may not exceed ${MAX_PAGE_DEPTH}.`,
    hint: 'To read further, pass the `nextCursor` of the previous reply as `cursor`.',
    cause: `The request asks for a page beyond the first ${MAX_PAGE_DEPTH} records. Numbered pages cost more the deeper they lie, so they end there.`,
    fix: 'Use `cursor` instead of `page`. Start with the first page and pass each `nextCursor` to the next request until it is `null`. A cursor reaches any depth.',
    retry: 'after-fixing',
  },
  CURSOR_INVALID: {
    ...notFound,
    message: 'The cursor is malformed, or it was made for other filters or another sort order.',
    hint: 'Pass `nextCursor` unchanged, with the same search, filters, `timeRange` and `sortBy` as before.',
    cause:
      'The cursor was shortened, changed or made up, or the search, the filters, `timeRange` or `sortBy` are not those of the page it came with.',
    fix: 'Pass `nextCursor` exactly as it came and leave the search, filters and sort order as they were; `limit` may change. For other filters, start again with the first page.',
    retry: 'after-fixing',
  },
  EVENTS_GONE: {
    ...notFound,
    message: 'The events after this cursor are no longer kept.',
    hint: 'Begin anew: take a cursor with `start` `recent`, then the lists, then the events after that cursor.',
    cause:
      'Events are kept for a time that the operator sets, usually 30 days, and the cursor is older. Or the operator has restored the database from a backup, or had events turned off for a while.',
    fix: 'Call `event.list` with `"start": "recent"` and keep its `nextCursor`. Read the lists whole. Then go on with `event.list` after that cursor. Ask more often than events are kept.',
    retry: 'after-fixing',
  },
  EVENTS_OFF: {
    ...notFound,
    message: 'This service keeps no events.',
    hint: 'The operator has turned events off. Use the lists.',
    cause: 'The operator runs the service with `EVENTS=off`.',
    fix: 'Ask the operator to turn events on, or read the lists again from time to time.',
    retry: 'no',
  },
  WEBHOOK_SECRETS_OFF: {
    ...notFound,
    message: 'This service makes no secrets of webhooks.',
    hint: 'The operator has set no key to encrypt them with. Use `event.list` or `event.tail`.',
    cause:
      'The operator runs the service on a database server without `WEBHOOK_SECRET_KEY`, or the file of the key has become unusable.',
    fix: 'Ask the operator to set the key, or get events by `event.list` or `event.tail`. Webhooks that are there already go on.',
    retry: 'no',
  },
  KEY_MISSING: {
    ...unauthorized,
    message: 'This operation needs an API key.',
    hint: 'Send the header `Authorization: Bearer <API_KEY>`.',
    cause: 'The operation is not public, and the request has no `Authorization` header.',
    fix: 'Send a key that has the scope of this operation; the operator of the service issues keys. If you do send one, check whether a proxy or a redirect drops the header.',
  },
  KEY_MALFORMED: {
    ...unauthorized,
    message: 'The Authorization header does not hold a well-formed API key.',
    hint: `A key is \`${KEY_PREFIX}\` followed by ${KEY_LENGTH} letters and digits, sent as \`Authorization: Bearer <API_KEY>\`. Check for a typo.`,
    cause: `What follows \`Bearer\` is not \`${KEY_PREFIX}\` and ${KEY_LENGTH} letters and digits, or its checksum is wrong: there is a typo, the key was cut short or put in quotes, or the header uses another scheme, such as Basic. Public operations refuse a bad key, too.`,
    fix: 'Copy the key again, whole, without quotes or line breaks. To call a public operation without a key, leave the header out.',
  },
  KEY_UNKNOWN: {
    ...unauthorized,
    message: 'This API key does not exist.',
    hint: 'Check that the key was issued by this service, and not by another deployment of it.',
    cause:
      'The key is well-formed, but this service has never issued it. Most often it belongs to another deployment, such as a sandbox or a test system.',
    fix: 'Compare the address that you call with the one that the key was issued for. If they match, ask the operator for a new key.',
  },
  KEY_EXPIRED: {
    ...unauthorized,
    message: 'This API key has expired.',
    hint: 'Make a key by `apiKey.create` with another one that holds `key:write`, or ask the operator for one (`keys create`). Before a key ends, `apiKey.rotate` replaces it, with an overlap.',
    cause:
      'The key had an expiry date, which has passed. A key that was replaced, by `apiKey.rotate` or the operator’s `keys rotate`, expires at the end of the overlap.',
    fix: 'If it was replaced, use its successor. Else make a key by `apiKey.create` with another one that holds `key:write`, or ask the operator (`keys create`). Next time, call `apiKey.rotate` before the end, which `user.me` shows as `apiKey.expiresAt`: both keys work for the overlap.',
  },
  KEY_REVOKED: {
    ...unauthorized,
    message: 'This API key has been revoked.',
    hint: 'Make a key by `apiKey.create` with another one that holds `key:write`, or ask the operator for one (`keys create`).',
    cause:
      'The operator or the user of the key has revoked it, or the key that made it, for example because that was leaked or is no longer needed.',
    fix: 'If you did not revoke it, ask the operator why. Make a new key by `apiKey.create` with another one that holds `key:write`, or ask the operator for one (`keys create`).',
  },
  USER_SUSPENDED: {
    ...unauthorized,
    message: 'The user of this API key is suspended.',
    hint: 'Ask the operator why, and whether the suspension can be lifted.',
    cause:
      'The operator has suspended the user that the key belongs to. All keys of the user are refused meanwhile, on public operations, too.',
    fix: 'Ask the operator why. The same keys work again within a second once the suspension is lifted; public operations can be called without a key.',
  },
  SCOPE_MISSING: {
    ...forbidden,
    message: 'The API key lacks the scope that this operation needs.',
    hint: 'Ask the operator for a key with this scope.',
    cause:
      'The key is valid, but was issued without the scope that this operation needs. No scope includes another: `user:write` does not allow what `user:read` does.',
    fix: '`data.hint` names the scope that is needed and those that the key has. Ask the operator for a key with the scope that is missing.',
    retry: 'after-fixing',
  },
  NOT_OWNER: {
    ...forbidden,
    message: 'Only the author may change this record.',
    hint: 'Use an API key of the author.',
    cause: 'The record was published by another user than the one whose key came with the request.',
    fix: 'Change it with a key of its author. `user.me` shows whose key you use; the record’s `author` shows whose it is.',
    retry: 'no',
  },
  GAME_NOT_FOUND: {
    ...notFound,
    message: 'There is no game with this id.',
    hint: '`game.list` lists the ids of games.',
    cause:
      'No game has this id: it was mistyped, it is the id of another kind of record or from another deployment, or the game is gone.',
    fix: 'Copy ids unchanged from a reply, for example from `game.list`. If the id used to work, treat the game as gone.',
    retry: 'no',
  },
  IMAGE_POST_NOT_FOUND: {
    ...notFound,
    message: 'There is no image post with this id.',
    hint: '`image.list` lists the ids of image posts.',
    cause:
      'No image post has this id: it was mistyped, it is the id of another kind of record or from another deployment, or the post is gone.',
    fix: 'Copy ids unchanged from a reply, for example from `image.list`. If the id used to work, treat the post as gone.',
    retry: 'no',
  },
  USER_NOT_FOUND: {
    ...notFound,
    message: 'There is no user with this id.',
    hint: '`user.search` finds the ids of users.',
    cause:
      'No user has this id: it was mistyped, it is the id of another kind of record or from another deployment, or the user is gone.',
    fix: 'Copy ids unchanged from a reply: from `user.search`, `user.me` or the `author` of a record. If the id used to work, treat the user as gone.',
    retry: 'no',
  },
  WEBHOOK_NOT_FOUND: {
    ...notFound,
    message: 'You have no webhook with this id.',
    hint: '`webhook.list` lists the ids of your webhooks.',
    cause:
      'No webhook has this id, or it belongs to another user than the one whose key came with the request: it was mistyped, or the webhook was deleted.',
    fix: 'Copy ids unchanged from a reply of `webhook.list`. If the id used to work, treat the webhook as gone.',
    retry: 'no',
  },
  DELIVERY_NOT_FOUND: {
    ...notFound,
    message: 'None of your webhooks has a delivery with this id.',
    hint: '`webhook.deliveries` lists the ids of deliveries.',
    cause:
      'No delivery has this id: it was mistyped, its webhook was deleted, or it was over for longer than events are kept.',
    fix: 'Copy ids unchanged from a reply of `webhook.deliveries`. If the delivery is no longer kept, read the record that it told of.',
    retry: 'no',
  },
  API_KEY_NOT_FOUND: {
    ...notFound,
    message: 'You have no key with this id.',
    hint: '`apiKey.list` lists the ids of your keys. The key itself is not its id.',
    cause: 'No key has this id, or it belongs to another user than the one whose key came with the request.',
    fix: 'Copy ids unchanged from a reply of `apiKey.list`, and never send a key in place of its id.',
    retry: 'no',
  },
  API_KEY_WIDER: {
    ...forbidden,
    message: 'This key may not give out a key with scopes that it lacks itself.',
    hint: 'Nothing was stored. Use a key that holds all the scopes, or ask for fewer.',
    cause: 'The key to be made, or to be replaced, holds a scope that the key in use does not hold.',
    fix: '`user.me` shows the scopes of the key in use, `apiKey.list` those of the others. The operator issues keys with more scopes.',
    retry: 'after-fixing',
  },
  API_KEY_LIMIT: {
    ...unprocessable,
    message: `A user makes keys while fewer than ${MAX_KEYS} are active.`,
    hint: 'Nothing was stored. Revoke keys that are no longer used: `apiKey.list` shows when each was last used.',
    cause: `The user of the key has ${MAX_KEYS} active keys, or more.`,
    fix: 'Revoke some, or wait for the overlap of earlier rotations to end. The operator can make more.',
    retry: 'after-fixing',
    shouldRetry: false,
  },
  API_KEY_ENDED: {
    ...forbidden,
    message: 'This key has ended, and cannot be replaced.',
    hint: 'Nothing was stored. Make a new key by `apiKey.create`.',
    cause: 'The key to be replaced is expired or revoked.',
    fix: 'Make a new one by `apiKey.create`. To replace keys without a gap, do it before they expire.',
    retry: 'after-fixing',
  },
  WEBHOOK_URL_FORBIDDEN: {
    ...unprocessable,
    message: 'A webhook may not have this URL.',
    hint: 'Use an https URL at a public address, on port 443 or 8443, without a user and a password.',
    cause:
      'The URL does not begin with `https://`, has another port than those that the operator allows, or leads to a private, loopback, link-local or reserved address.',
    fix: '`data.hint` says what is wrong. To try a webhook on your own machine, use the sandbox, or a tunnel with a public address.',
    retry: 'after-fixing',
    shouldRetry: false,
  },
  WEBHOOK_LIMIT: {
    ...unprocessable,
    message: `A user has ${MAX_WEBHOOKS} webhooks at most.`,
    hint: 'Nothing was stored. Delete one that you no longer need, or send more types of events to one.',
    cause: `The user of the key has ${MAX_WEBHOOKS} webhooks already.`,
    fix: 'Look at `webhook.list` for those that you no longer need. One webhook without filters gets all events.',
    retry: 'after-fixing',
    shouldRetry: false,
  },
  WEBHOOK_SECRET_LIMIT: {
    ...unprocessable,
    message: `At most ${MAX_SIGNING_SECRETS} secrets of a webhook sign at once.`,
    hint: `Nothing was changed. Each secret signs for ${ROTATION_HOURS} hours after it was replaced: try again later.`,
    cause: `The secret of the webhook was replaced ${MAX_SIGNING_SECRETS - 1} times within ${ROTATION_HOURS} hours. The replaced secrets still sign, so that no receiver refuses a message.`,
    fix: 'Use the last secret that you got; `data.hint` says from when on you can replace it. If you have lost it, or it has leaked, make another webhook and delete this one.',
    retry: 'after-fixing',
    shouldRetry: false,
  },
  WEBHOOK_NOT_ACTIVE: {
    ...unprocessable,
    message: 'This webhook is not active.',
    hint: 'Nothing was sent. `webhook.list` shows its state, and why.',
    cause: 'The webhook is paused or disabled, or its endpoint has not answered the challenge yet.',
    fix: 'See to it that the endpoint answers the challenge. One that is paused or disabled goes on with `webhook.update` and `"state": "active"`.',
    retry: 'after-fixing',
    shouldRetry: false,
  },
  CONTRACT_NOT_FOUND: {
    ...notFound,
    message: 'You have published no contract of this consumer under this tag.',
    hint: '`consumerContract.list` lists your contracts.',
    cause:
      'The user of the key has published no contract under this name and tag: one of them was mistyped, or the contract was deleted.',
    fix: 'Copy both unchanged from a reply of `consumerContract.list`. If they used to work, treat the contract as gone.',
    retry: 'no',
  },
  CONTRACT_LIMIT: {
    ...unprocessable,
    message: `A user has ${MAX_CONTRACTS} consumer contracts at most, of ${inBytes(MAX_CONTRACT_BYTES)} together.`,
    hint: 'Nothing was stored. Delete those of consumers and tags that are no longer in use.',
    cause: `The user of the key has ${MAX_CONTRACTS} other contracts already, or this one is too large to have beside them. The \`hint\` names the bytes.`,
    fix: 'Look at `consumerContract.list` for those that are no longer in use. Publish under a tag that stays, such as `production`, and not under one for each version.',
    retry: 'after-fixing',
    shouldRetry: false,
  },
  CONTRACT_UNKNOWN: {
    ...unprocessable,
    message: 'The contract names what this gateway does not have.',
    hint: 'Nothing was stored. Compare its needs with the document of this gateway.',
    cause:
      'A need names a part that this version of the gateway lacks, or the contract names a later version. The `hint` names the first ones.',
    fix: 'Correct the names, or have the tests record the contract again. Pointers into the output begin behind `/result/data/json`, as `/items` does.',
    retry: 'after-fixing',
    shouldRetry: false,
  },
  PROCEDURE_NOT_FOUND: {
    ...notFound,
    message: 'There is no such procedure.',
    hint: 'Procedure names are case-sensitive; `/docs` lists them all.',
    cause:
      'No procedure has the name that follows `/api/trpc/`. It was misspelled, is written with other capitals, or has a slash too many.',
    fix: 'Write the name as the documentation has it, with a dot and without a slash at the end: `/api/trpc/game.list`.',
    retry: 'after-fixing',
  },
  // The page of an invitation answers these, and no procedure.
  INVITATION_NOT_FOUND: {
    ...invitation,
    message: 'There is no such invitation.',
    cause:
      'The address of the invitation is not complete, or is of another service. Or the invitation ended long ago, or its user was deleted.',
  },
  INVITATION_USED: {
    ...invitation,
    message: 'The invitation was used before.',
    cause: 'An invitation makes one user and one key. This one has made them.',
  },
  INVITATION_EXPIRED: {
    ...invitation,
    message: 'The invitation has expired.',
    cause: 'An invitation lasts for as long as the operator has said, usually 7 days.',
  },
  INVITATION_REVOKED: {
    ...invitation,
    message: 'The operator has revoked the invitation.',
    cause: 'The operator has ended the invitation before it was used.',
  },
  ROUTE_NOT_FOUND: {
    ...notFound,
    message: 'There is nothing at this path.',
    hint: 'The API is below `/api/trpc/`, its documentation below `/docs`.',
    cause: 'The path belongs neither to a procedure nor to a page of this service.',
    fix: 'Check the base URL: procedures are at `/api/trpc/` and their name. If the service is behind a proxy, check that the proxy passes the path on unchanged.',
    retry: 'after-fixing',
  },
  METHOD_NOT_SUPPORTED: {
    status: 405,
    code: 'METHOD_NOT_SUPPORTED',
    number: -32005,
    message: 'This path does not support this HTTP method.',
    hint: 'The header `Allow` names the methods that it supports.',
    cause:
      'Procedures are called by POST. Those that only read also take GET, with the input as `?input=` and without a body; those that write take nothing else.',
    fix: 'Send the call by POST. If you did, look for a redirect on the way, such as from `http` to `https`: many clients follow one with a GET.',
    retry: 'after-fixing',
  },
  PAYLOAD_TOO_LARGE: {
    ...tooLarge,
    message: 'The request body is too large.',
    hint: `At most ${inBytes(READ_BODY_LIMIT)} for a read, ${inBytes(WRITE_BODY_LIMIT)} for a write, and ${inBytes(BATCH_BODY_LIMIT)} for batchCreate and for batches of calls that write.`,
    cause: `The body is larger than the operation takes: ${inBytes(READ_BODY_LIMIT)} for a read, ${inBytes(WRITE_BODY_LIMIT)} for a write, ${inBytes(BATCH_BODY_LIMIT)} for \`batchCreate\` and for batches of calls that write. A compressed body counts as it is when unpacked.`,
    fix: 'Send fewer records at once. Images and files are never part of a request: records hold their URLs.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    number: -32015,
    message: 'The media type, charset or content encoding of the request body is not supported.',
    hint: `Send \`Content-Type: application/json\` in UTF-8, plain or encoded with ${BODY_CODINGS.join(' or ')}.`,
    cause: `The header \`Content-Type\` is not \`application/json\` in UTF-8, or \`Content-Encoding\` is neither ${BODY_CODINGS.join(' nor ')}. Many clients send a form unless told otherwise: curl with \`-d\` does.`,
    fix: 'Set the header `Content-Type: application/json`, with curl by `-H` or `--json`. Leave `Content-Encoding` out unless you compress the body.',
    retry: 'after-fixing',
  },
  BAD_HTTP_REQUEST: {
    ...badRequest,
    message: 'The request is not well-formed HTTP.',
    hint: 'Use an HTTP client library, and send each header once.',
    cause:
      'The request breaks a rule of HTTP: it has no `Host`, repeats a header that may appear only once, or cannot be parsed. In a sandbox, an `X-Sandbox-…` header with a wrong value is refused so, too.',
    fix: '`data.hint` says what is wrong. If you did not write the request by hand, look at what proxies between you and the service add.',
  },
  HEADERS_TOO_LARGE: {
    ...badRequest,
    status: 431,
    message: 'The request headers are too large.',
    hint: `At most ${HEADERS_LIMIT / 1024} KiB in all, and ${MAX_HEADERS} headers.`,
    cause: `The headers, including the request line, are larger than ${HEADERS_LIMIT / 1024} KiB, or there are more than ${MAX_HEADERS}. Long cookies and long \`?input=\` parameters of a GET are the usual causes.`,
    fix: 'Send no cookies: the service uses none. Send long inputs by POST.',
  },
  REQUEST_TIMEOUT: {
    status: 408,
    code: 'TIMEOUT',
    number: -32008,
    message: 'The request took too long to arrive.',
    hint: `Send the headers within ${HEADERS_SECONDS} seconds and the whole request within ${REQUEST_SECONDS}.`,
    cause: `The headers were not complete after ${HEADERS_SECONDS} seconds, or the whole request after ${REQUEST_SECONDS}. Either the connection is slow, or \`Content-Length\` announces more than is sent.`,
    fix: 'Send smaller or compressed bodies over slow connections. If it happens at once to every request, check `Content-Length`.',
    retry: 'after-a-pause',
  },
  IDEMPOTENCY_KEY_INVALID: {
    ...badRequest,
    message: 'The `Idempotency-Key` is not usable.',
    hint: `Send 1 to ${lengths.idempotencyKey} printable ASCII characters, such as a UUID.`,
    cause: `The header is empty, longer than ${lengths.idempotencyKey} characters, or has characters other than printable ASCII.`,
    fix: 'Use a new UUID for each thing to be done. Do not build the value from titles or names, which may be in any script.',
  },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    code: 'CONFLICT',
    number: -32009,
    message: 'A request with the same `Idempotency-Key` is still being worked on.',
    hint: 'Send this request again after the number of seconds in `Retry-After`: it then gets the answer to the first one.',
    cause:
      'A write with the same `Idempotency-Key` came earlier and has not ended. Usually the client gave up waiting for it too soon and sent it again.',
    fix: 'Send the same request again, with the same `Idempotency-Key`. If it happens often, let your client wait longer for an answer.',
    retry: 'after-retry-after',
    shouldRetry: true,
  },
  IDEMPOTENCY_MISMATCH: {
    ...unprocessable,
    message: 'The `Idempotency-Key` was used before, with another input.',
    hint: `Nothing was stored by this call. Send a new \`Idempotency-Key\` for another input; a used one is kept for ${IDEMPOTENCY_HOURS} hours.`,
    cause: `This API key has called this operation with the same \`Idempotency-Key\` within the last ${IDEMPOTENCY_HOURS} hours, and with another input. Leaving out a member and sending its default count as different inputs.`,
    fix: 'Use a new `Idempotency-Key` for each thing to be done, and the same one only to repeat exactly that request.',
    retry: 'after-fixing',
    shouldRetry: false,
  },
  IDEMPOTENCY_GONE: {
    ...unprocessable,
    message: 'What this call published before has been removed since.',
    hint: 'Nothing was stored by this call. Do not publish the same again: it was taken down, or deleted.',
    cause: `This API key has made this call with the same \`Idempotency-Key\` within the last ${IDEMPOTENCY_HOURS} hours. Of what it published then, at least one record is gone: the operator of the service has hidden or deleted it.`,
    fix: 'Treat the records as published and gone. To publish something else, use a new `Idempotency-Key`.',
    retry: 'no',
    shouldRetry: false,
  },
  BATCH_TOO_LARGE: {
    ...badRequest,
    message: `A batch holds at most ${MAX_BATCH_CALLS} calls.`,
    hint: 'Send several batches: the batch links of tRPC clients have the option `maxItems`.',
    cause: `The path names more than ${MAX_BATCH_CALLS} procedures. A tRPC client makes such a batch when many calls are made at the same moment.`,
    fix: `Give \`httpBatchLink\` or \`httpBatchStreamLink\` the option \`maxItems: ${MAX_BATCH_CALLS}\`: it then sends several batches.`,
  },
  ANSWER_TOO_LARGE: {
    ...tooLarge,
    message: `The answers to the calls of a batch are larger than ${inBytes(ANSWER_LIMIT)} together.`,
    hint: 'Nothing was stored by this call. Ask for less at once: a smaller `limit`, or fewer calls in a batch.',
    cause: `The answers to the calls of one batch go out together, and are ${inBytes(ANSWER_LIMIT)} at most. This call found no more room; others of the same batch may have succeeded.`,
    fix: 'Make the calls that failed again, in a smaller batch or each by itself, or ask for shorter pages by `limit`.',
  },
  RATE_LIMITED: {
    ...tooMany,
    message: 'Too many requests.',
    hint: 'Wait for the number of seconds in `Retry-After`.',
    cause:
      'Your key, or your address where you send no key, has used up one of its rates, or all keys of your user have used up theirs together. `data.hint` names it, and the header `RateLimit-Policy` lists them all. A refused request costs nothing.',
    fix: 'Wait for as long as `Retry-After` says. Spread your requests, keep answers for a while, and send a key: it has higher rates than an address. Store many records by `batchCreate`.',
  },
  QUOTA_EXCEEDED: {
    ...tooMany,
    message: 'The user of this key has made as many new tags or game types as a user may in a day.',
    hint: `A user may make ${DAILY_TAGS} new tags and ${DAILY_GAME_TYPES} new game types in a day, which ends at midnight UTC. Nothing was stored.`,
    cause: `The record has tags or a \`gameType\` that nobody has used before, and the user of the key has made ${DAILY_TAGS} new tags or ${DAILY_GAME_TYPES} new game types today. Tags and types that exist are not counted.`,
    fix: 'Use tags and types that exist already, or go on after midnight UTC. If every record brings new tags, check whether something else, such as its title, has got among them.',
  },
  OVERLOADED: {
    ...unavailable,
    message: 'The service is too busy to complete this request.',
    hint: 'Nothing was stored. Try again after the number of seconds in `Retry-After`.',
    cause:
      'More requests came than the service can answer in time, so it refused this one before doing anything for it. Each caller may be well within its rates.',
    fix: 'Try again after `Retry-After`. If it lasts, tell the operator.',
    retry: 'after-retry-after',
  },
  MAINTENANCE: {
    ...unavailable,
    message: 'The service takes no writes at the moment.',
    hint: 'Nothing was stored. Reads are answered. Try again after the number of seconds in `Retry-After`.',
    cause:
      'The operator has put the service into read-only mode, for an upgrade or a move of the database. Operations that only read are answered as usual.',
    fix: 'Keep the write and send it again after `Retry-After`, with the same `Idempotency-Key`. Go on reading meanwhile.',
    retry: 'after-retry-after',
  },
  DATABASE_UNAVAILABLE: {
    ...unavailable,
    message: 'The database cannot be reached.',
    hint: 'Try again after the number of seconds in `Retry-After`.',
    cause:
      'The service cannot reach its database, or the database refuses it. It may be restarting. Nothing was stored.',
    fix: 'Try again after `Retry-After`. If it lasts, tell the operator: `GET /readyz` shows whether the service is ready.',
    retry: 'after-retry-after',
  },
  TIMEOUT: {
    ...unavailable,
    message: 'The service could not complete this request in time.',
    hint: 'Nothing was stored. Try again after the number of seconds in `Retry-After`.',
    cause:
      'The time that the service allows itself for a request was over before it was done. The database may be slow.',
    fix: 'Try again after `Retry-After`. If it happens to one kind of request only, ask for less: a smaller `limit`, a more selective search, fewer records at once.',
    retry: 'after-retry-after',
  },
  OUTCOME_UNKNOWN: {
    ...unavailable,
    message: 'The connection to the database broke while this was stored, so it may or may not be.',
    hint: 'Retry the request with the same `Idempotency-Key`: if it is stored already, it is not stored again.',
    cause:
      'The connection to the database, or the disk, failed while the write was being stored. The service cannot tell whether it was.',
    fix: 'Retry the request with the `Idempotency-Key` that it had: it is then done once, whatever happened before. Send one with every write.',
    retry: 'with-idempotency-key',
  },
  INTERNAL: {
    status: 500,
    code: 'INTERNAL_SERVER_ERROR',
    number: -32603,
    message: 'Something went wrong on our side.',
    hint: 'Quote `requestId` when you report it.',
    cause: 'A fault of the service, or of what it runs on. It has been logged.',
    fix: 'Tell the operator, with `data.requestId`: it finds the fault in the log.',
    retry: 'after-a-pause',
  },
} as const satisfies Record<string, CatalogueEntry>;

/** A stable, machine-readable cause of a failure: a key of the catalogue. */
export type Reason = keyof typeof errors;
/** The HTTP status of each reason in R. */
export type StatusOf<R extends Reason> = (typeof errors)[R]['status'];

/** All reasons, in the order of the catalogue. */
export const reasons = Object.keys(errors) as readonly Reason[];

/** The catalogue entry of a reason, typed alike for all reasons. */
export const errorOf = (reason: Reason): CatalogueEntry => errors[reason];

/** The path of the page about all reasons. */
export const ERRORS_PATH = '/errors';

/**
 * The URI reference to the explanation of a reason: `https://api.example.com/errors#TIMEOUT` or, without a `base`,
 * `/errors#TIMEOUT`, to append to the address of the service. `base` does not end with a slash.
 */
export const docsOf = (reason: Reason, base = ''): string => `${base}${ERRORS_PATH}#${reason}`;
