/**
 * @engines sqlite
 * @tier fast
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import {
  type ErrorResponse,
  errorOf,
  type Issue,
  MAX_EXCERPT,
  procedures,
  type Reason,
} from '../../../contract/index.ts';
import { PLACES } from '../../../src/base/suggestions/paths.ts';
import { startApp } from '../../harness/app/app.ts';
import { type RawRequest, sendRaw } from '../../harness/http/raw-http.ts';

// What people get wrong in their first hour, and what each is told, word for word: enough to put it right without a look
// into the documentation. Of a key nothing is repeated.

const app = await startApp();
afterAll(() => app.stop());

const { key: K } = await app.aUser();

const J = { 'Content-Type': 'application/json' };
const LIST = '/api/trpc/game.list';
const CREATE = '/api/trpc/game.create';
const ME = '/api/trpc/user.me';
const AUTHOR = { Authorization: `Bearer ${K}` };

interface Sent extends RawRequest {
  path: string;
}

const call = (body: string | Buffer, path = LIST, headers: Record<string, string> = {}): Sent => ({
  path,
  headers: { ...J, ...headers },
  body,
});
const json = (input: object, path = LIST, headers = {}): Sent => call(JSON.stringify({ json: input }), path, headers);
const asKey = (authorization: string): Sent => call('{}', ME, { Authorization: authorization });
const get = (path: string): Sent => ({ method: 'GET', path });
const GAME_PROCEDURES = procedures
  .filter(({ router }) => router === 'game')
  .map(({ name }) => `\`${name}\``)
  .join(', ');

const IN_PHP = 'in PHP, an empty object is `new stdClass()` or `(object) []`';

/** An id of no record. */
const ID = '019a3c5e-8e20-7b52-8c2f-6a1d9b3e7f02';
const valid = '{"json":{"limit":10,"page":1}}';

interface Row {
  mistake: string;
  sent: Sent;
  /** The status and the reason. */
  answer: string;
  /** Each with its path before it, in any order. */
  issues?: readonly string[];
  /** The catalogue's, unless there is one for this. */
  hint?: string;
}

const table: Record<string, readonly Row[]> = {
  'the name of a procedure': [
    {
      mistake: 'a plural router',
      sent: call(valid, '/api/trpc/games.list'),
      answer: '404 PROCEDURE_NOT_FOUND',
      hint: 'Did you mean `game.list`? Names are case-sensitive. `/docs/` lists all procedures.',
    },
    {
      mistake: 'a slash for the dot',
      sent: call(valid, '/api/trpc/game/list'),
      answer: '404 PROCEDURE_NOT_FOUND',
      hint: 'Did you mean `game.list`? Names are case-sensitive. `/docs/` lists all procedures.',
    },
    {
      mistake: 'another case',
      sent: call(valid, '/api/trpc/Game.List'),
      answer: '404 PROCEDURE_NOT_FOUND',
      hint: 'Did you mean `game.list`? Names are case-sensitive. `/docs/` lists all procedures.',
    },
    {
      mistake: 'a slash at the end',
      sent: call(valid, '/api/trpc/game.list/'),
      answer: '404 PROCEDURE_NOT_FOUND',
      hint: 'Did you mean `game.list`? Names are case-sensitive. `/docs/` lists all procedures.',
    },
    {
      mistake: 'no dot',
      sent: call(valid, '/api/trpc/gameList'),
      answer: '404 PROCEDURE_NOT_FOUND',
      hint: 'Did you mean `game.list`? Names are case-sensitive. `/docs/` lists all procedures.',
    },
    {
      mistake: 'the name of other APIs',
      sent: call(valid, '/api/trpc/game.getAll'),
      answer: '404 PROCEDURE_NOT_FOUND',
      hint: 'Did you mean `game.list`? Names are case-sensitive. `/docs/` lists all procedures.',
    },
    {
      mistake: 'a typing error',
      sent: call(valid, '/api/trpc/game.lsit'),
      answer: '404 PROCEDURE_NOT_FOUND',
      hint: 'Did you mean `game.list`? Names are case-sensitive. `/docs/` lists all procedures.',
    },
    {
      mistake: 'a procedure that there is not',
      sent: call(valid, '/api/trpc/game.delete'),
      answer: '404 PROCEDURE_NOT_FOUND',
      hint: `\`game\` has the procedures ${GAME_PROCEDURES}. Names are case-sensitive. \`/docs/\` lists all procedures.`,
    },
    {
      mistake: 'no router',
      sent: call(valid, '/api/trpc/list'),
      answer: '404 PROCEDURE_NOT_FOUND',
      hint: 'Did you mean `game.list`, `image.list`, `event.list`, `webhook.list`, `apiKey.list` or `consumerContract.list`? Names are case-sensitive. `/docs/` lists all procedures.',
    },
    {
      mistake: 'something else altogether',
      sent: call(valid, '/api/trpc/invoice.pay'),
      answer: '404 PROCEDURE_NOT_FOUND',
      hint: 'The procedures are those of `game`, `image`, `user`, `event`, `webhook`, `apiKey` or `consumerContract`; their names are case-sensitive. `/docs/` lists all procedures.',
    },
    {
      mistake: 'nothing',
      sent: call(valid, '/api/trpc/'),
      answer: '404 PROCEDURE_NOT_FOUND',
      hint: 'Name a procedure after the last slash, as in `/api/trpc/game.list`. `/docs/` lists all procedures.',
    },
    {
      mistake: 'a batch without `batch=1`',
      sent: call('{"0":{"json":{}},"1":{"json":{}}}', '/api/trpc/game.getTypeStats,game.list'),
      answer: '404 PROCEDURE_NOT_FOUND',
      hint: 'Several procedures in one path are a batch: add `?batch=1` to the URL.',
    },
  ],
  'the path': [
    {
      mistake: 'without `/api`',
      sent: call(valid, '/trpc/game.list'),
      answer: '404 ROUTE_NOT_FOUND',
      hint: 'Did you mean `/api/trpc/game.list`? Procedures are called by `POST /api/trpc/<router>.<procedure>`.',
    },
    {
      mistake: 'without `/trpc`',
      sent: call(valid, '/api/game.list'),
      answer: '404 ROUTE_NOT_FOUND',
      hint: 'Did you mean `/api/trpc/game.list`? Procedures are called by `POST /api/trpc/<router>.<procedure>`.',
    },
    {
      mistake: 'with a version',
      sent: call(valid, '/api/v1/game.list'),
      answer: '404 ROUTE_NOT_FOUND',
      hint: 'Did you mean `/api/trpc/game.list`? Procedures are called by `POST /api/trpc/<router>.<procedure>`.',
    },
    {
      mistake: 'as in REST',
      sent: get('/api/v1/games'),
      answer: '404 ROUTE_NOT_FOUND',
      hint: `\`game\` has the procedures ${GAME_PROCEDURES}. Procedures are called by \`POST /api/trpc/<router>.<procedure>\`.`,
    },
    {
      mistake: 'up to `/api/trpc`',
      sent: get('/api/trpc'),
      answer: '404 ROUTE_NOT_FOUND',
      hint: 'Procedures are called by `POST /api/trpc/<router>.<procedure>`, for example `/api/trpc/game.list`; `/docs/` lists them all.',
    },
    {
      mistake: 'of the documentation',
      sent: get('/swagger'),
      answer: '404 ROUTE_NOT_FOUND',
      hint: 'Did you mean `/docs/`?',
    },
    {
      mistake: 'of the document',
      sent: get('/openapi'),
      answer: '404 ROUTE_NOT_FOUND',
      hint: 'Did you mean `/openapi.json`?',
    },
    {
      mistake: 'of the health check',
      sent: get('/health'),
      answer: '404 ROUTE_NOT_FOUND',
      hint: 'Did you mean `/healthz`?',
    },
  ],
  'the sandbox': ['/sandbox', '/sandbox/reset'].map((path) => ({
    mistake: `${path} of a service that is none`,
    sent: get(path),
    answer: '404 ROUTE_NOT_FOUND',
    hint: 'This service is not a sandbox. `/guides/sandbox` says how to start one.',
  })),
  'the method': [
    {
      mistake: 'a GET with plain parameters',
      sent: get(`${LIST}?limit=10&page=1`),
      answer: '400 VALIDATION_FAILED',
      issues: ['is required: send {"json":{"limit":20,"page":1}}'],
      hint: 'A GET takes its parameters as URL-encoded JSON: `/api/trpc/game.list?input=%7B%22json%22%3A%7B%22limit%22%3A10%2C%22page%22%3A1%7D%7D`. Or send {"json": {…}} by POST.',
    },
    {
      mistake: 'a GET without any',
      sent: get('/api/trpc/game.getById'),
      answer: '400 VALIDATION_FAILED',
      issues: ['is required: send {"json":{"id":"019a3c5e-8e20-7b52-8c2f-6a1d9b3e7f02"}}'],
      hint: 'A GET takes its parameters as URL-encoded JSON: `/api/trpc/game.getById?input=%7B%22json%22%3A%7B%22id%22%3A%22019a3c5e-8e20-7b52-8c2f-6a1d9b3e7f02%22%7D%7D`. Or send {"json": {…}} by POST.',
    },
    {
      mistake: 'a GET of what writes',
      sent: get(`${CREATE}?input=%7B%22json%22%3A%7B%22title%22%3A%22x%22%7D%7D`),
      answer: '405 METHOD_NOT_SUPPORTED',
      hint: 'Send POST, not GET. The parameters go into the body, as {"json": {…}}.',
    },
    {
      mistake: 'a PUT',
      sent: { ...call(valid), method: 'PUT' },
      answer: '405 METHOD_NOT_SUPPORTED',
      hint: 'Send GET, HEAD or POST, not PUT.',
    },
    {
      mistake: 'a POST with its parameters in the URL',
      sent: call('', `${LIST}?limit=10&page=1`),
      answer: '400 VALIDATION_FAILED',
      issues: ['is required: send {"json":{"limit":20,"page":1}}'],
      hint: 'A POST takes its parameters in the body, not in the URL: {"json":{"limit":10,"page":1}}.',
    },
    {
      mistake: 'a GET with a body',
      sent: { ...call(valid), method: 'GET' },
      answer: '405 METHOD_NOT_SUPPORTED',
      hint: 'Send a body by POST; a GET takes its input as `?input=`.',
    },
  ],
  'the envelope': [
    {
      mistake: 'no `json`',
      sent: call('{"limit":10,"page":1}'),
      answer: '400 VALIDATION_FAILED',
      issues: ['must hold its parameters in `json`: send {"json":{"limit":10,"page":1}}'],
    },
    {
      mistake: 'another wrapper',
      sent: call('{"input":{"limit":10,"page":1}}'),
      answer: '400 VALIDATION_FAILED',
      issues: ['must hold its parameters in `json`, not in `input`: send {"json":{"limit":10,"page":1}}'],
    },
    {
      mistake: 'two wrappers',
      sent: call('{"json":{"json":{"limit":10,"page":1}}}'),
      answer: '400 VALIDATION_FAILED',
      issues: ['/json is not a member of this input: wrap it in `json` once, {"json":{"limit":10,"page":1}}'],
    },
    {
      mistake: 'JSON in a string',
      sent: call(JSON.stringify(valid)),
      answer: '400 VALIDATION_FAILED',
      issues: [
        'must be an object such as {"json":{"limit":20,"page":1}}, not a string that holds JSON: encode it once, not twice',
      ],
    },
    {
      mistake: 'JSON in a string in `json`',
      sent: call('{"json":"{\\"limit\\":10}"}'),
      answer: '400 VALIDATION_FAILED',
      issues: ['must be an object, not a string that holds JSON: encode it once, not twice'],
    },
    {
      mistake: 'an array',
      sent: call('[{"limit":10,"page":1}]'),
      answer: '400 VALIDATION_FAILED',
      issues: ['must be an object such as {"json":{"limit":20,"page":1}}, not an array'],
    },
    {
      mistake: 'a batch without `batch=1`',
      sent: call('{"0":{"json":{"limit":10,"page":1}}}'),
      answer: '400 VALIDATION_FAILED',
      issues: ['must be one call, {"json":{"limit":20,"page":1}}; for a batch, add `?batch=1` to the URL'],
    },
    {
      mistake: 'no body',
      sent: call(''),
      answer: '400 VALIDATION_FAILED',
      issues: ['is required: send {"json":{"limit":20,"page":1}}'],
    },
    {
      mistake: 'parameters beside `json`',
      sent: call('{"json":{"limit":10},"page":1}'),
      answer: '400 VALIDATION_FAILED',
      issues: ['/page is required without a cursor', 'must not hold "page" beside `json`; put `page` into `json`'],
    },
  ],
  'the media type': [
    {
      mistake: 'none',
      sent: { path: LIST, body: valid },
      answer: '415 UNSUPPORTED_MEDIA_TYPE',
      hint: 'The body has no `Content-Type`. Send `Content-Type: application/json`.',
    },
    {
      mistake: 'what curl sends',
      sent: call(valid, LIST, { 'Content-Type': 'application/x-www-form-urlencoded' }),
      answer: '415 UNSUPPORTED_MEDIA_TYPE',
      hint: 'Send `Content-Type: application/json`, not `application/x-www-form-urlencoded` (curl sends that unless told otherwise: `-H "Content-Type: application/json"`).',
    },
    {
      mistake: 'plain text',
      sent: call(valid, LIST, { 'Content-Type': 'text/plain;charset=UTF-8' }),
      answer: '415 UNSUPPORTED_MEDIA_TYPE',
      hint: 'Send `Content-Type: application/json`, not `text/plain`.',
    },
    {
      mistake: 'another charset',
      sent: call(valid, LIST, { 'Content-Type': 'application/json; charset=latin1' }),
      answer: '415 UNSUPPORTED_MEDIA_TYPE',
      hint: 'The charset `latin1` is not supported. Send UTF-8, with `Content-Type: application/json`.',
    },
    {
      mistake: 'Brotli',
      sent: call(valid, LIST, { 'Content-Encoding': 'br' }),
      answer: '415 UNSUPPORTED_MEDIA_TYPE',
      hint: 'The content encoding `br` is not supported. Send the body plain, or encoded with gzip or deflate.',
    },
  ],
  'the JSON': [
    {
      mistake: 'cut off',
      sent: call('{"json":{"limit":10'),
      answer: '400 MALFORMED_JSON',
      hint: 'Line 1, column 20: the text ends inside an object; is it cut off?',
    },
    {
      mistake: 'a comma at the end',
      sent: call('{\n  "json": {\n    "limit": 10,\n    "page": 1,\n  }\n}'),
      answer: '400 MALFORMED_JSON',
      hint: 'Line 5, column 3: `}` after a comma; remove the comma.',
    },
    {
      mistake: 'single quotes',
      sent: call("{'json':{'limit':10}}"),
      answer: '400 MALFORMED_JSON',
      hint: 'Line 1, column 2: a single quote: JSON takes double quotes only.',
    },
    {
      mistake: 'names without quotes',
      sent: call('{json:{limit:10}}'),
      answer: '400 MALFORMED_JSON',
      hint: 'Line 1, column 2: a word without double quotes, where a name in double quotes is needed.',
    },
    {
      mistake: 'NaN',
      sent: call('{"json":{"limit":NaN}}'),
      answer: '400 MALFORMED_JSON',
      hint: 'Line 1, column 18: `NaN`, which JSON lacks: send null or leave it out.',
    },
    {
      mistake: 'Python’s None',
      sent: call('{"json":{"search":None}}'),
      answer: '400 MALFORMED_JSON',
      hint: 'Line 1, column 19: `None`, which is `null` in JSON.',
    },
    {
      mistake: 'a byte order mark',
      sent: call(`\ufeff${valid}`),
      answer: '400 MALFORMED_JSON',
      hint: 'Line 1, column 1: a byte order mark (U+FEFF): send the text without it.',
    },
    {
      mistake: 'a form',
      sent: call('limit=10&page=1'),
      answer: '400 MALFORMED_JSON',
      hint: 'Line 1, column 1: a name and `=`: this seems to be a form.',
    },
    {
      mistake: 'a comment',
      sent: call('{"json":{"limit":10 /* a page */}}'),
      answer: '400 MALFORMED_JSON',
      hint: 'Line 1, column 21: a comment, which JSON lacks.',
    },
    {
      mistake: 'a line break in a string',
      sent: call('{"json":{"search":"a\nb"}}'),
      answer: '400 MALFORMED_JSON',
      hint: 'Line 1, column 21: a line break inside a string: write it as `\\n`, or close the string before it.',
    },
    {
      mistake: 'UTF-16',
      sent: { path: LIST, headers: J, body: Buffer.from(`\ufeff${valid}`, 'utf16le') },
      answer: '400 MALFORMED_JSON',
      hint: 'The body is UTF-16. Send it in UTF-8.',
    },
    {
      mistake: 'encoded twice, in the URL',
      sent: get(`${LIST}?input=%257B%2522json%2522%253A%257B%257D%257D`),
      answer: '400 MALFORMED_JSON',
      hint: 'Line 1, column 1: `%`: the text is URL-encoded, or encoded once too often.',
    },
  ],
  'the credential': [
    { mistake: 'none', sent: call('{}', ME), answer: '401 KEY_MISSING' },
    {
      mistake: 'none, but a header of other APIs',
      sent: call('{}', ME, { 'X-API-Key': K }),
      answer: '401 KEY_MISSING',
      hint: 'A key is not read from the header `x-api-key`. Send it in the header `Authorization: Bearer <API_KEY>`.',
    },
    {
      mistake: 'none, but a key in the URL',
      sent: call('{}', `${ME}?api_key=${K}`),
      answer: '401 KEY_MISSING',
      hint: 'A key is not read from `api_key` of the URL, which others may log. Send it in the header `Authorization: Bearer <API_KEY>`.',
    },
    {
      mistake: 'no `Bearer`',
      sent: asKey(K),
      answer: '401 KEY_MALFORMED',
      hint: '`Bearer` is missing before the key. Send `Authorization: Bearer <API_KEY>`.',
    },
    {
      mistake: '`Bearer` twice',
      sent: asKey(`Bearer Bearer ${K}`),
      answer: '401 KEY_MALFORMED',
      hint: '`Bearer` is there twice. Send it once.',
    },
    {
      mistake: '`Bearer` alone',
      sent: asKey('Bearer '),
      answer: '401 KEY_MALFORMED',
      hint: 'No key follows `Bearer`: the variable that should hold it is empty or not set.',
    },
    {
      mistake: 'quotation marks',
      sent: asKey(`Bearer "${K}"`),
      answer: '401 KEY_MALFORMED',
      hint: 'The key is in quotation marks. Send it without them.',
    },
    {
      mistake: 'undefined',
      sent: asKey('Bearer undefined'),
      answer: '401 KEY_MALFORMED',
      hint: 'The key is the word `undefined`: the variable that should hold it is not set.',
    },
    {
      mistake: 'an object',
      sent: asKey('Bearer [object Object]'),
      answer: '401 KEY_MALFORMED',
      hint: 'The key is the word `[object Object]`: the variable that should hold it is not set.',
    },
    {
      mistake: 'a placeholder',
      sent: asKey('Bearer <API_KEY>'),
      answer: '401 KEY_MALFORMED',
      hint: 'This is a placeholder. Put your API key in its place.',
    },
    {
      mistake: 'another placeholder',
      sent: asKey('Bearer YOUR_API_KEY'),
      answer: '401 KEY_MALFORMED',
      hint: 'This is a placeholder. Put your API key in its place.',
    },
    {
      mistake: 'Basic',
      sent: asKey(`Basic ${Buffer.from(`${K}:`).toString('base64')}`),
      answer: '401 KEY_MALFORMED',
      hint: 'The scheme is `Basic`, which this service does not use. Send `Authorization: Bearer <API_KEY>`.',
    },
    {
      mistake: 'a typing error',
      sent: asKey(`Bearer ${K.slice(0, 20)}${K[20] === 'a' ? 'b' : 'a'}${K.slice(21)}`),
      answer: '401 KEY_MALFORMED',
      hint: 'The key has a typing error: its checksum is wrong. Copy it again.',
    },
    {
      mistake: 'cut off',
      sent: asKey(`Bearer ${K.slice(0, 30)}`),
      answer: '401 KEY_MALFORMED',
      hint: 'The key is cut off. A key has 42 characters.',
    },
    {
      mistake: 'a dot at the end',
      sent: asKey(`Bearer ${K}.`),
      answer: '401 KEY_MALFORMED',
      hint: 'Something follows the key, such as a dot, a comma or a line break. Send the key alone.',
    },
    {
      mistake: 'masked',
      sent: asKey(`Bearer ${K.slice(0, 12)}****`),
      answer: '401 KEY_MALFORMED',
      hint: 'The key is shortened or masked, as it is for display. Send all of it.',
    },
    {
      mistake: 'a token of another kind',
      sent: asKey('Bearer eyJhbGciOiJIUzI1NiJ9.e30.x'),
      answer: '401 KEY_MALFORMED',
      hint: 'This is a JSON Web Token, which this service does not use. Send an API key, `cgk_…`.',
    },
    {
      mistake: 'a scheme of its own',
      sent: asKey(`Token ${K}`),
      answer: '401 KEY_MALFORMED',
      hint: 'The scheme is `Token`, which this service does not use. Send `Authorization: Bearer <API_KEY>`.',
    },
  ],
  'the id': [
    ...[`{${ID}}`, `${ID} `, ID.replaceAll('-', ''), ID.toUpperCase(), `urn:uuid:${ID}`].map((id) => ({
      mistake: `written as ${JSON.stringify(id)}`,
      sent: json({ id }, '/api/trpc/game.getById'),
      answer: '404 GAME_NOT_FOUND',
      hint: `Ids are written exactly as replies have them. Did you mean \`${ID}\`?`,
    })),
    ...[
      ['42', '/api/trpc/game.getById', 'GAME_NOT_FOUND'],
      ['latest', '/api/trpc/image.getById', 'IMAGE_POST_NOT_FOUND'],
      ['demo', '/api/trpc/user.getProfile', 'USER_NOT_FOUND'],
    ].map(([id = '', path = '', reason = '']) => ({
      mistake: `that cannot be one: ${id}`,
      sent: json({ id }, path),
      answer: `404 ${reason}`,
      hint: 'This is not an id of this service: ids are 32 lower-case hexadecimal digits in five groups, with dashes between them. Copy them from a reply.',
    })),
    {
      mistake: 'in another member',
      sent: json({ gameId: 'x', type: 'like' }, '/api/trpc/game.toggleReaction', AUTHOR),
      answer: '404 GAME_NOT_FOUND',
      hint: 'This is not an id of this service: ids are 32 lower-case hexadecimal digits in five groups, with dashes between them. Copy them from a reply.',
    },
    {
      mistake: 'me',
      sent: json({ id: 'me' }, '/api/trpc/user.getProfile'),
      answer: '404 USER_NOT_FOUND',
      hint: '`user.me` reads the user of your API key; `user.getProfile` takes an id.',
    },
    {
      mistake: 'of no game',
      sent: json({ id: ID }, '/api/trpc/game.getById'),
      answer: '404 GAME_NOT_FOUND',
    },
  ],
  'the input': [
    {
      mistake: 'a typing error in a name',
      sent: json({ titel: 'x' }, CREATE, AUTHOR),
      answer: '400 VALIDATION_FAILED',
      issues: ['/title is required', '/titel is not a member of this input; did you mean `title`?'],
    },
    {
      mistake: 'the name of other APIs',
      sent: json({ page_size: 10, page: 1 }),
      answer: '400 VALIDATION_FAILED',
      issues: ['/limit is required', '/page_size is not a member of this input; did you mean `limit`?'],
    },
    {
      mistake: 'another one',
      sent: json({ limit: 10, offset: 20 }),
      answer: '400 VALIDATION_FAILED',
      issues: ['/offset is not a member of this input; did you mean `page`?', '/page is required without a cursor'],
    },
    {
      mistake: 'a part of a name',
      sent: json({ title: 'x', tags: ['rpg'] }, CREATE, AUTHOR),
      answer: '400 VALIDATION_FAILED',
      issues: ['/tags is not a member of this input; did you mean `tagNames`?'],
    },
    {
      mistake: 'a member in the wrong place',
      sent: json({ title: 'x', fileSize: '1GB' }, CREATE, AUTHOR),
      answer: '400 VALIDATION_FAILED',
      issues: ['/fileSize is not a member of this input; did you mean `extraInfo.fileSize`?'],
    },
    {
      mistake: 'a name that is near none',
      sent: json({ limit: 10, page: 1, colour: 'red' }),
      answer: '400 VALIDATION_FAILED',
      issues: ['/colour is not a member of this input'],
      hint: '`game.list` takes `limit`, `page`, `cursor`, `search`, `tagSlugs`, `gameType`, `sortBy`, `timeRange`.',
    },
    {
      mistake: 'another word for a value',
      sent: json({ limit: 10, page: 1, sortBy: 'newest' }),
      answer: '400 VALIDATION_FAILED',
      issues: ['/sortBy must be one of "latest", "oldest", "views", "likes", "favorites"; did you mean "latest"?'],
    },
    {
      mistake: 'a value that is near none',
      sent: json({ limit: 10, page: 1, sortBy: 'price' }),
      answer: '400 VALIDATION_FAILED',
      issues: ['/sortBy must be one of "latest", "oldest", "views", "likes", "favorites"'],
    },
    {
      mistake: 'a number as a string',
      sent: json({ limit: '10', page: 1 }),
      answer: '400 VALIDATION_FAILED',
      issues: ['/limit must be a whole number from 1 to 100, not a string; write it without quotes'],
    },
    {
      mistake: 'digits that are no number in JSON',
      sent: json({ limit: '007', page: 1 }),
      answer: '400 VALIDATION_FAILED',
      issues: ['/limit must be a whole number from 1 to 100, not a string'],
    },
    {
      mistake: 'a word for true',
      sent: json({ title: 'x', isFree: 'yes' }, CREATE, AUTHOR),
      answer: '400 VALIDATION_FAILED',
      issues: ['/isFree must be true or false, not a string'],
    },
    {
      mistake: 'null for nothing',
      sent: json({ title: 'x', description: null }, CREATE, AUTHOR),
      answer: '400 VALIDATION_FAILED',
      issues: ['/description must be a string, not null; leave it out for none'],
    },
    {
      mistake: 'one for a list',
      sent: json({ limit: 10, page: 1, tagSlugs: 'rpg' }),
      answer: '400 VALIDATION_FAILED',
      issues: ['/tagSlugs must be an array, not a string; put it into an array'],
    },
    {
      mistake: 'too many',
      sent: json({ title: 'x', tagNames: Array.from({ length: 25 }, (_, n) => `tag ${n}`) }, CREATE, AUTHOR),
      answer: '400 VALIDATION_FAILED',
      issues: ['/tagNames must hold at most 20 items, holds 25'],
    },
    {
      mistake: 'white space for a title',
      sent: json({ title: ' ', tagNames: ['　'] }, CREATE, AUTHOR),
      answer: '400 VALIDATION_FAILED',
      issues: ['/title must hold more than white space', '/tagNames/0 must hold more than white space'],
    },
    {
      mistake: 'a URL without a scheme',
      sent: json({ title: 'x', coverUrl: 'example.com/a.png' }, CREATE, AUTHOR),
      answer: '400 VALIDATION_FAILED',
      issues: ['/coverUrl must be an absolute http or https URL without spaces, quotation marks, "<", ">" and "\\"'],
    },
    {
      mistake: 'a page from 0',
      sent: json({ limit: 10, page: 0 }),
      answer: '400 VALIDATION_FAILED',
      issues: ['/page must be a whole number from 1 to 2147483647'],
    },
    {
      mistake: 'an array for the member that takes it',
      sent: call('{"json":[{"title":"x"}]}', '/api/trpc/game.batchCreate', AUTHOR),
      answer: '400 VALIDATION_FAILED',
      issues: ['must be an object, not an array; put the array into `games`'],
    },
    {
      mistake: 'the empty array of PHP',
      sent: call('{"json":[]}'),
      answer: '400 VALIDATION_FAILED',
      issues: [`must be an object, not an array; send \`{}\`; ${IN_PHP}`],
    },
    {
      mistake: 'the same by GET',
      sent: get(`${LIST}?input=%7B%22json%22%3A%5B%5D%7D`),
      answer: '400 VALIDATION_FAILED',
      issues: [`must be an object, not an array; send \`{}\`; ${IN_PHP}`],
    },
    {
      mistake: 'the same where one member takes an array',
      sent: call('{"json":[]}', '/api/trpc/game.batchCreate', AUTHOR),
      answer: '400 VALIDATION_FAILED',
      issues: [`must be an object, not an array; send \`{}\`; ${IN_PHP}`],
    },
    {
      mistake: 'the same for a member',
      sent: json({ title: 'x', extraInfo: [] }, CREATE, AUTHOR),
      answer: '400 VALIDATION_FAILED',
      issues: [`/extraInfo must be an object, not an array; send \`{}\`; ${IN_PHP}`],
    },
    {
      mistake: 'the same for members of any name',
      sent: json({ socialLinks: [] }, '/api/trpc/user.updateProfile', AUTHOR),
      answer: '400 VALIDATION_FAILED',
      issues: [`/socialLinks must be an object, not an array; send \`{}\`; ${IN_PHP}`],
    },
    {
      mistake: 'the same within an array',
      sent: json({ games: [[]] }, '/api/trpc/game.batchCreate', AUTHOR),
      answer: '400 VALIDATION_FAILED',
      issues: [`/games/0 must be an object, not an array; send \`{}\`; ${IN_PHP}`],
    },
    {
      mistake: 'the same for all',
      sent: call('[]'),
      answer: '400 VALIDATION_FAILED',
      issues: [`must be an object such as {"json":{"limit":20,"page":1}}, not an array; ${IN_PHP}`],
    },
    {
      mistake: 'the same for a batch',
      sent: call('[{"json":{}}]', '/api/trpc/game.list,user.me?batch=1'),
      answer: '400 VALIDATION_FAILED',
      issues: ['must be an object: {"0": {"json": …}, "1": …}; in PHP, encode `(object) $calls`'],
    },
    {
      mistake: 'values without names',
      sent: call('{"json":[20,1]}'),
      answer: '400 VALIDATION_FAILED',
      issues: ['must be an object, not an array; give its values names, such as `limit`'],
    },
    {
      mistake: 'the member that says what it holds',
      sent: json({ title: 'x', imageUrls: ['https://example.com/a.png'] }, '/api/trpc/image.create', AUTHOR),
      answer: '400 VALIDATION_FAILED',
      issues: ['/images is required', '/imageUrls is not a member of this input; did you mean `images`?'],
    },
    {
      mistake: 'nothing',
      sent: json({}),
      answer: '400 VALIDATION_FAILED',
      issues: ['/limit is required', '/page is required without a cursor'],
    },
  ],
};

const textOf = ({ path, message }: Issue): string => `${path} ${message}`.trim();

describe.each(Object.entries(table))('%s', (_, rows) => {
  test.each(rows)('$mistake', async ({ sent: { path, ...request }, answer, issues, hint }) => {
    const reply = await sendRaw(app.url, path, request);
    const { data } = (reply.body as ErrorResponse).error.json;
    expect(`${reply.status} ${data.reason}`).toBe(answer);
    expect({ issues: data.issues?.map(textOf).toSorted(), hint: data.hint }).toEqual({
      issues: issues?.toSorted(),
      hint: hint ?? errorOf(data.reason as Reason).hint,
    });
    const text = JSON.stringify(reply.body);
    for (let at = 4; at + 6 <= K.length; at += 1) expect(text).not.toContain(K.slice(at, at + 6));
  });
});

test.each(Object.keys(PLACES))('what is suggested is there: %s', async (path) => {
  expect((await sendRaw(app.url, path, { method: 'GET' })).status).not.toBe(404);
});

test('there are 45 mistakes at least, each told in a few lines', () => {
  const rows = Object.values(table).flat();
  expect(rows.length).toBeGreaterThanOrEqual(45);
  for (const { hint = '', issues = [] } of rows) {
    for (const text of [hint, ...issues]) expect(text.length).toBeLessThan(300 + MAX_EXCERPT);
  }
});
