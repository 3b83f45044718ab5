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

/** Issues with their paths before them, in any order, and the hint, which is the catalogue's unless another one is here. */
interface Told {
  issues?: readonly string[];
  hint?: string;
}

/** The hint alone is a text, the issues alone are a list. The answer is that of the group, unless the row has another. */
type Row = readonly [mistake: string, sent: Sent, told?: string | readonly string[] | Told, answer?: string];

const LISTED = 'Names are case-sensitive. `/docs/` lists all procedures.';
const MEANT_LIST = `Did you mean \`game.list\`? ${LISTED}`;
const CALLED_BY = 'Procedures are called by `POST /api/trpc/<router>.<procedure>`';
const MEANT_LIST_PATH = `Did you mean \`/api/trpc/game.list\`? ${CALLED_BY}.`;
const NO_ID =
  'This is not an id of this service: ids are 32 lower-case hexadecimal digits in five groups, with dashes between them. Copy them from a reply.';
const NO_SANDBOX = 'This service is not a sandbox. `/guides/sandbox` says how to start one.';

const table: Record<string, { answer: string; rows: readonly Row[] }> = {
  'the name of a procedure': {
    answer: '404 PROCEDURE_NOT_FOUND',
    rows: [
      ['a plural router', call(valid, '/api/trpc/games.list'), MEANT_LIST],
      ['a slash for the dot', call(valid, '/api/trpc/game/list'), MEANT_LIST],
      ['another case', call(valid, '/api/trpc/Game.List'), MEANT_LIST],
      ['a slash at the end', call(valid, '/api/trpc/game.list/'), MEANT_LIST],
      ['no dot', call(valid, '/api/trpc/gameList'), MEANT_LIST],
      ['the name of other APIs', call(valid, '/api/trpc/game.getAll'), MEANT_LIST],
      ['a typing error', call(valid, '/api/trpc/game.lsit'), MEANT_LIST],
      [
        'a procedure that there is not',
        call(valid, '/api/trpc/game.delete'),
        `\`game\` has the procedures ${GAME_PROCEDURES}. Names are case-sensitive. \`/docs/\` lists all procedures.`,
      ],
      [
        'no router',
        call(valid, '/api/trpc/list'),
        'Did you mean `game.list`, `image.list`, `event.list`, `webhook.list`, `apiKey.list` or `consumerContract.list`? Names are case-sensitive. `/docs/` lists all procedures.',
      ],
      [
        'something else altogether',
        call(valid, '/api/trpc/invoice.pay'),
        'The procedures are those of `game`, `image`, `user`, `event`, `webhook`, `apiKey` or `consumerContract`; their names are case-sensitive. `/docs/` lists all procedures.',
      ],
      [
        'nothing',
        call(valid, '/api/trpc/'),
        'Name a procedure after the last slash, as in `/api/trpc/game.list`. `/docs/` lists all procedures.',
      ],
      [
        'a batch without `batch=1`',
        call('{"0":{"json":{}},"1":{"json":{}}}', '/api/trpc/game.getTypeStats,game.list'),
        'Several procedures in one path are a batch: add `?batch=1` to the URL.',
      ],
    ],
  },
  'the path': {
    answer: '404 ROUTE_NOT_FOUND',
    rows: [
      ['without `/api`', call(valid, '/trpc/game.list'), MEANT_LIST_PATH],
      ['without `/trpc`', call(valid, '/api/game.list'), MEANT_LIST_PATH],
      ['with a version', call(valid, '/api/v1/game.list'), MEANT_LIST_PATH],
      [
        'as in REST',
        get('/api/v1/games'),
        `\`game\` has the procedures ${GAME_PROCEDURES}. Procedures are called by \`POST /api/trpc/<router>.<procedure>\`.`,
      ],
      [
        'up to `/api/trpc`',
        get('/api/trpc'),
        'Procedures are called by `POST /api/trpc/<router>.<procedure>`, for example `/api/trpc/game.list`; `/docs/` lists them all.',
      ],
      ['of the documentation', get('/swagger'), 'Did you mean `/docs/`?'],
      ['of the document', get('/openapi'), 'Did you mean `/openapi.json`?'],
      ['of the health check', get('/health'), 'Did you mean `/healthz`?'],
    ],
  },
  'the sandbox': {
    answer: '404 ROUTE_NOT_FOUND',
    rows: ['/sandbox', '/sandbox/reset'].map((path): Row => [path, get(path), NO_SANDBOX]),
  },
  'the method': {
    answer: '405 METHOD_NOT_SUPPORTED',
    rows: [
      [
        'a GET with plain parameters',
        get(`${LIST}?limit=10&page=1`),
        {
          issues: ['is required: send {"json":{"limit":20,"page":1}}'],
          hint: 'A GET takes its parameters as URL-encoded JSON: `/api/trpc/game.list?input=%7B%22json%22%3A%7B%22limit%22%3A10%2C%22page%22%3A1%7D%7D`. Or send {"json": {…}} by POST.',
        },
        '400 VALIDATION_FAILED',
      ],
      [
        'a GET without any',
        get('/api/trpc/game.getById'),
        {
          issues: ['is required: send {"json":{"id":"019a3c5e-8e20-7b52-8c2f-6a1d9b3e7f02"}}'],
          hint: 'A GET takes its parameters as URL-encoded JSON: `/api/trpc/game.getById?input=%7B%22json%22%3A%7B%22id%22%3A%22019a3c5e-8e20-7b52-8c2f-6a1d9b3e7f02%22%7D%7D`. Or send {"json": {…}} by POST.',
        },
        '400 VALIDATION_FAILED',
      ],
      [
        'a GET of what writes',
        get(`${CREATE}?input=%7B%22json%22%3A%7B%22title%22%3A%22x%22%7D%7D`),
        'Send POST, not GET. The parameters go into the body, as {"json": {…}}.',
      ],
      ['a PUT', { ...call(valid), method: 'PUT' }, 'Send GET, HEAD or POST, not PUT.'],
      [
        'a POST with its parameters in the URL',
        call('', `${LIST}?limit=10&page=1`),
        {
          issues: ['is required: send {"json":{"limit":20,"page":1}}'],
          hint: 'A POST takes its parameters in the body, not in the URL: {"json":{"limit":10,"page":1}}.',
        },
        '400 VALIDATION_FAILED',
      ],
      [
        'a GET with a body',
        { ...call(valid), method: 'GET' },
        'Send a body by POST; a GET takes its input as `?input=`.',
      ],
    ],
  },
  'the envelope': {
    answer: '400 VALIDATION_FAILED',
    rows: [
      [
        'no `json`',
        call('{"limit":10,"page":1}'),
        ['must hold its parameters in `json`: send {"json":{"limit":10,"page":1}}'],
      ],
      [
        'another wrapper',
        call('{"input":{"limit":10,"page":1}}'),
        ['must hold its parameters in `json`, not in `input`: send {"json":{"limit":10,"page":1}}'],
      ],
      [
        'two wrappers',
        call('{"json":{"json":{"limit":10,"page":1}}}'),
        ['/json is not a member of this input: wrap it in `json` once, {"json":{"limit":10,"page":1}}'],
      ],
      [
        'JSON in a string',
        call(JSON.stringify(valid)),
        [
          'must be an object such as {"json":{"limit":20,"page":1}}, not a string that holds JSON: encode it once, not twice',
        ],
      ],
      [
        'JSON in a string in `json`',
        call('{"json":"{\\"limit\\":10}"}'),
        ['must be an object, not a string that holds JSON: encode it once, not twice'],
      ],
      [
        'an array',
        call('[{"limit":10,"page":1}]'),
        ['must be an object such as {"json":{"limit":20,"page":1}}, not an array'],
      ],
      [
        'a batch without `batch=1`',
        call('{"0":{"json":{"limit":10,"page":1}}}'),
        ['must be one call, {"json":{"limit":20,"page":1}}; for a batch, add `?batch=1` to the URL'],
      ],
      ['no body', call(''), ['is required: send {"json":{"limit":20,"page":1}}']],
      [
        'parameters beside `json`',
        call('{"json":{"limit":10},"page":1}'),
        ['/page is required without a cursor', 'must not hold "page" beside `json`; put `page` into `json`'],
      ],
    ],
  },
  'the media type': {
    answer: '415 UNSUPPORTED_MEDIA_TYPE',
    rows: [
      ['none', { path: LIST, body: valid }, 'The body has no `Content-Type`. Send `Content-Type: application/json`.'],
      [
        'what curl sends',
        call(valid, LIST, { 'Content-Type': 'application/x-www-form-urlencoded' }),
        'Send `Content-Type: application/json`, not `application/x-www-form-urlencoded` (curl sends that unless told otherwise: `-H "Content-Type: application/json"`).',
      ],
      [
        'plain text',
        call(valid, LIST, { 'Content-Type': 'text/plain;charset=UTF-8' }),
        'Send `Content-Type: application/json`, not `text/plain`.',
      ],
      [
        'another charset',
        call(valid, LIST, { 'Content-Type': 'application/json; charset=latin1' }),
        'The charset `latin1` is not supported. Send UTF-8, with `Content-Type: application/json`.',
      ],
      [
        'Brotli',
        call(valid, LIST, { 'Content-Encoding': 'br' }),
        'The content encoding `br` is not supported. Send the body plain, or encoded with gzip or deflate.',
      ],
    ],
  },
  'the JSON': {
    answer: '400 MALFORMED_JSON',
    rows: [
      ['cut off', call('{"json":{"limit":10'), 'Line 1, column 20: the text ends inside an object; is it cut off?'],
      [
        'a comma at the end',
        call('{\n  "json": {\n    "limit": 10,\n    "page": 1,\n  }\n}'),
        'Line 5, column 3: `}` after a comma; remove the comma.',
      ],
      [
        'single quotes',
        call("{'json':{'limit':10}}"),
        'Line 1, column 2: a single quote: JSON takes double quotes only.',
      ],
      [
        'names without quotes',
        call('{json:{limit:10}}'),
        'Line 1, column 2: a word without double quotes, where a name in double quotes is needed.',
      ],
      ['NaN', call('{"json":{"limit":NaN}}'), 'Line 1, column 18: `NaN`, which JSON lacks: send null or leave it out.'],
      ['Python’s None', call('{"json":{"search":None}}'), 'Line 1, column 19: `None`, which is `null` in JSON.'],
      [
        'a byte order mark',
        call(`\ufeff${valid}`),
        'Line 1, column 1: a byte order mark (U+FEFF): send the text without it.',
      ],
      ['a form', call('limit=10&page=1'), 'Line 1, column 1: a name and `=`: this seems to be a form.'],
      ['a comment', call('{"json":{"limit":10 /* a page */}}'), 'Line 1, column 21: a comment, which JSON lacks.'],
      [
        'a line break in a string',
        call('{"json":{"search":"a\nb"}}'),
        'Line 1, column 21: a line break inside a string: write it as `\\n`, or close the string before it.',
      ],
      [
        'UTF-16',
        { path: LIST, headers: J, body: Buffer.from(`\ufeff${valid}`, 'utf16le') },
        'The body is UTF-16. Send it in UTF-8.',
      ],
      [
        'encoded twice, in the URL',
        get(`${LIST}?input=%257B%2522json%2522%253A%257B%257D%257D`),
        'Line 1, column 1: `%`: the text is URL-encoded, or encoded once too often.',
      ],
    ],
  },
  'the credential': {
    answer: '401 KEY_MALFORMED',
    rows: [
      ['none', call('{}', ME), undefined, '401 KEY_MISSING'],
      [
        'none, but a header of other APIs',
        call('{}', ME, { 'X-API-Key': K }),
        'A key is not read from the header `x-api-key`. Send it in the header `Authorization: Bearer <API_KEY>`.',
        '401 KEY_MISSING',
      ],
      [
        'none, but a key in the URL',
        call('{}', `${ME}?api_key=${K}`),
        'A key is not read from `api_key` of the URL, which others may log. Send it in the header `Authorization: Bearer <API_KEY>`.',
        '401 KEY_MISSING',
      ],
      ['no `Bearer`', asKey(K), '`Bearer` is missing before the key. Send `Authorization: Bearer <API_KEY>`.'],
      ['`Bearer` twice', asKey(`Bearer Bearer ${K}`), '`Bearer` is there twice. Send it once.'],
      [
        '`Bearer` alone',
        asKey('Bearer '),
        'No key follows `Bearer`: the variable that should hold it is empty or not set.',
      ],
      ['quotation marks', asKey(`Bearer "${K}"`), 'The key is in quotation marks. Send it without them.'],
      [
        'undefined',
        asKey('Bearer undefined'),
        'The key is the word `undefined`: the variable that should hold it is not set.',
      ],
      [
        'an object',
        asKey('Bearer [object Object]'),
        'The key is the word `[object Object]`: the variable that should hold it is not set.',
      ],
      ['a placeholder', asKey('Bearer <API_KEY>'), 'This is a placeholder. Put your API key in its place.'],
      ['another placeholder', asKey('Bearer YOUR_API_KEY'), 'This is a placeholder. Put your API key in its place.'],
      [
        'Basic',
        asKey(`Basic ${Buffer.from(`${K}:`).toString('base64')}`),
        'The scheme is `Basic`, which this service does not use. Send `Authorization: Bearer <API_KEY>`.',
      ],
      [
        'a typing error',
        asKey(`Bearer ${K.slice(0, 20)}${K[20] === 'a' ? 'b' : 'a'}${K.slice(21)}`),
        'The key has a typing error: its checksum is wrong. Copy it again.',
      ],
      ['cut off', asKey(`Bearer ${K.slice(0, 30)}`), 'The key is cut off. A key has 42 characters.'],
      [
        'a dot at the end',
        asKey(`Bearer ${K}.`),
        'Something follows the key, such as a dot, a comma or a line break. Send the key alone.',
      ],
      [
        'masked',
        asKey(`Bearer ${K.slice(0, 12)}****`),
        'The key is shortened or masked, as it is for display. Send all of it.',
      ],
      [
        'a token of another kind',
        asKey('Bearer eyJhbGciOiJIUzI1NiJ9.e30.x'),
        'This is a JSON Web Token, which this service does not use. Send an API key, `cgk_…`.',
      ],
      [
        'a scheme of its own',
        asKey(`Token ${K}`),
        'The scheme is `Token`, which this service does not use. Send `Authorization: Bearer <API_KEY>`.',
      ],
    ],
  },
  'the id': {
    answer: '404 GAME_NOT_FOUND',
    rows: [
      ...[`{${ID}}`, `${ID} `, ID.replaceAll('-', ''), ID.toUpperCase(), `urn:uuid:${ID}`].map((id): Row => [
        `written as ${JSON.stringify(id)}`,
        json({ id }, '/api/trpc/game.getById'),
        `Ids are written exactly as replies have them. Did you mean \`${ID}\`?`,
      ]),
      ['42', json({ id: '42' }, '/api/trpc/game.getById'), NO_ID],
      ['latest', json({ id: 'latest' }, '/api/trpc/image.getById'), NO_ID, '404 IMAGE_POST_NOT_FOUND'],
      ['demo', json({ id: 'demo' }, '/api/trpc/user.getProfile'), NO_ID, '404 USER_NOT_FOUND'],
      ['in another member', json({ gameId: 'x', type: 'like' }, '/api/trpc/game.toggleReaction', AUTHOR), NO_ID],
      [
        'me',
        json({ id: 'me' }, '/api/trpc/user.getProfile'),
        '`user.me` reads the user of your API key; `user.getProfile` takes an id.',
        '404 USER_NOT_FOUND',
      ],
      ['of no game', json({ id: ID }, '/api/trpc/game.getById')],
    ],
  },
  'the input': {
    answer: '400 VALIDATION_FAILED',
    rows: [
      [
        'a typing error in a name',
        json({ titel: 'x' }, CREATE, AUTHOR),
        ['/title is required', '/titel is not a member of this input; did you mean `title`?'],
      ],
      [
        'the name of other APIs',
        json({ page_size: 10, page: 1 }),
        ['/limit is required', '/page_size is not a member of this input; did you mean `limit`?'],
      ],
      [
        'another one',
        json({ limit: 10, offset: 20 }),
        ['/offset is not a member of this input; did you mean `page`?', '/page is required without a cursor'],
      ],
      [
        'a part of a name',
        json({ title: 'x', tags: ['rpg'] }, CREATE, AUTHOR),
        ['/tags is not a member of this input; did you mean `tagNames`?'],
      ],
      [
        'a member in the wrong place',
        json({ title: 'x', fileSize: '1GB' }, CREATE, AUTHOR),
        ['/fileSize is not a member of this input; did you mean `extraInfo.fileSize`?'],
      ],
      [
        'a name that is near none',
        json({ limit: 10, page: 1, colour: 'red' }),
        {
          issues: ['/colour is not a member of this input'],
          hint: '`game.list` takes `limit`, `page`, `cursor`, `search`, `tagSlugs`, `gameType`, `sortBy`, `timeRange`.',
        },
      ],
      [
        'another word for a value',
        json({ limit: 10, page: 1, sortBy: 'newest' }),
        ['/sortBy must be one of "latest", "oldest", "views", "likes", "favorites"; did you mean "latest"?'],
      ],
      [
        'a value that is near none',
        json({ limit: 10, page: 1, sortBy: 'price' }),
        ['/sortBy must be one of "latest", "oldest", "views", "likes", "favorites"'],
      ],
      [
        'a number as a string',
        json({ limit: '10', page: 1 }),
        ['/limit must be a whole number from 1 to 100, not a string; write it without quotes'],
      ],
      [
        'digits that are no number in JSON',
        json({ limit: '007', page: 1 }),
        ['/limit must be a whole number from 1 to 100, not a string'],
      ],
      [
        'a word for true',
        json({ title: 'x', isFree: 'yes' }, CREATE, AUTHOR),
        ['/isFree must be true or false, not a string'],
      ],
      [
        'null for nothing',
        json({ title: 'x', description: null }, CREATE, AUTHOR),
        ['/description must be a string, not null; leave it out for none'],
      ],
      [
        'one for a list',
        json({ limit: 10, page: 1, tagSlugs: 'rpg' }),
        ['/tagSlugs must be an array, not a string; put it into an array'],
      ],
      [
        'too many',
        json({ title: 'x', tagNames: Array.from({ length: 25 }, (_, n) => `tag ${n}`) }, CREATE, AUTHOR),
        ['/tagNames must hold at most 20 items, holds 25'],
      ],
      [
        'white space for a title',
        json({ title: ' ', tagNames: ['　'] }, CREATE, AUTHOR),
        ['/title must hold more than white space', '/tagNames/0 must hold more than white space'],
      ],
      [
        'a URL without a scheme',
        json({ title: 'x', coverUrl: 'example.com/a.png' }, CREATE, AUTHOR),
        ['/coverUrl must be an absolute http or https URL without spaces, quotation marks, "<", ">" and "\\"'],
      ],
      ['a page from 0', json({ limit: 10, page: 0 }), ['/page must be a whole number from 1 to 2147483647']],
      [
        'an array for the member that takes it',
        call('{"json":[{"title":"x"}]}', '/api/trpc/game.batchCreate', AUTHOR),
        ['must be an object, not an array; put the array into `games`'],
      ],
      ['the empty array of PHP', call('{"json":[]}'), [`must be an object, not an array; send \`{}\`; ${IN_PHP}`]],
      [
        'the same by GET',
        get(`${LIST}?input=%7B%22json%22%3A%5B%5D%7D`),
        [`must be an object, not an array; send \`{}\`; ${IN_PHP}`],
      ],
      [
        'the same where one member takes an array',
        call('{"json":[]}', '/api/trpc/game.batchCreate', AUTHOR),
        [`must be an object, not an array; send \`{}\`; ${IN_PHP}`],
      ],
      [
        'the same for a member',
        json({ title: 'x', extraInfo: [] }, CREATE, AUTHOR),
        [`/extraInfo must be an object, not an array; send \`{}\`; ${IN_PHP}`],
      ],
      [
        'the same for members of any name',
        json({ socialLinks: [] }, '/api/trpc/user.updateProfile', AUTHOR),
        [`/socialLinks must be an object, not an array; send \`{}\`; ${IN_PHP}`],
      ],
      [
        'the same within an array',
        json({ games: [[]] }, '/api/trpc/game.batchCreate', AUTHOR),
        [`/games/0 must be an object, not an array; send \`{}\`; ${IN_PHP}`],
      ],
      [
        'the same for all',
        call('[]'),
        [`must be an object such as {"json":{"limit":20,"page":1}}, not an array; ${IN_PHP}`],
      ],
      [
        'the same for a batch',
        call('[{"json":{}}]', '/api/trpc/game.list,user.me?batch=1'),
        ['must be an object: {"0": {"json": …}, "1": …}; in PHP, encode `(object) $calls`'],
      ],
      [
        'values without names',
        call('{"json":[20,1]}'),
        ['must be an object, not an array; give its values names, such as `limit`'],
      ],
      [
        'the member that says what it holds',
        json({ title: 'x', imageUrls: ['https://example.com/a.png'] }, '/api/trpc/image.create', AUTHOR),
        ['/images is required', '/imageUrls is not a member of this input; did you mean `images`?'],
      ],
      ['nothing', json({}), ['/limit is required', '/page is required without a cursor']],
    ],
  },
};

const textOf = ({ path, message }: Issue): string => `${path} ${message}`.trim();

const toldOf = (told: Row[2]): Told => {
  if (typeof told === 'string') return { hint: told };
  return Array.isArray(told) ? { issues: told as readonly string[] } : ((told ?? {}) as Told);
};

describe.each(Object.entries(table))('%s', (_, { answer: usual, rows }) => {
  for (const [mistake, { path, ...request }, told, answer = usual] of rows) {
    test(mistake, async () => {
      const { issues, hint } = toldOf(told);
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
  }
});

test.each(Object.keys(PLACES))('what is suggested is there: %s', async (path) => {
  expect((await sendRaw(app.url, path, { method: 'GET' })).status).not.toBe(404);
});

test('there are 45 mistakes at least, each told in a few lines', () => {
  const rows = Object.values(table).flatMap((group) => group.rows);
  expect(rows.length).toBeGreaterThanOrEqual(45);
  for (const { hint = '', issues = [] } of rows.map(([, , told]) => toldOf(told))) {
    for (const text of [hint, ...issues]) expect(text.length).toBeLessThan(300 + MAX_EXCERPT);
  }
});
