/**
 * @engines none
 * @tier fast
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { type ClientDocument, documented } from '../../../openapi/kit/conformance/document/client-document.ts';
import { changesFor } from '../../../openapi/kit/conformance/document/compare.ts';

// What a client that was made from one document finds in another one.

type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- documents are changed anywhere

const read = (file: string): Json => JSON.parse(readFileSync(`openapi/${file}`, 'utf8')) as Json;
const text = readFileSync('openapi/openapi.json', 'utf8');
const changed = (change: (document: Json) => void): ClientDocument => {
  const document = JSON.parse(text) as Json;
  change(document);
  return documented('x', document);
};
const current = changed(() => undefined);

/** `breaks`, or `is new to`, clients: where, what was expected and what came. */
const told = (client: ClientDocument, service: ClientDocument): string[] =>
  changesFor(client, service).map(
    ({ operation, where, expected, came, breaks }) =>
      `${breaks ? 'BREAKS' : 'new'} ${operation}, ${where}: ${expected} → ${came}`,
  );

describe('what has not changed', () => {
  test('is not told, be the client made from one version of OpenAPI or the other', () => {
    expect(
      told(
        current,
        changed(() => undefined),
      ),
    ).toEqual([]);
    expect(told(documented('x', read('openapi-3.0.json')), current)).toEqual([]);
  });

  test('since the release breaks nobody', () => {
    const changes = told(documented('x', read('released/1.0.0/openapi.json')), current);
    expect(changes.length).toBeGreaterThan(0);
    // A scope reaches only callers whose keys are issued with it.
    const isScope = (change: string): boolean => change.includes('/apiKey/scopes/*: no value ');
    expect(changes.filter((change) => change.startsWith('BREAKS') && !isScope(change))).toEqual([]);
  });
});

const schema = (document: Json, name: string): Json => document['components'].schemas[name];
const listed = '200 /result/data/json/items/*';

/** Changes of the service: for the client what it breaks, the other way round what the client knows already. */
const changes: [what: string, change: (document: Json) => void, told: string, reversed: string][] = [
  [
    'an operation',
    (document) => delete document['paths']['/api/trpc/user.search'],
    'BREAKS user.search, the operation: the operation → nothing',
    'new user.search, the operation: no such operation → it is there',
  ],
  [
    'a member of replies',
    (document) => {
      const summary = schema(document, 'GameSummary');
      delete summary['properties'].likeCount;
      summary['required'] = summary['required'].filter((name: string) => name !== 'likeCount');
    },
    `BREAKS game.list, ${listed}/likeCount: the member → nothing`,
    `new game.list, ${listed}/likeCount: no such member → it is there`,
  ],
  [
    'that a member of replies is there',
    (document) => {
      const summary = schema(document, 'GameSummary');
      summary['required'] = summary['required'].filter((name: string) => name !== 'likeCount');
    },
    `BREAKS game.list, ${listed}/likeCount: the member → it may be missing`,
    `new game.list, ${listed}/likeCount: it may be missing → it is always there`,
  ],
  [
    'the type of a member of replies',
    (document) => (schema(document, 'GameSummary')['properties'].likeCount.type = 'string'),
    `BREAKS game.list, ${listed}/likeCount: no type "string" → it`,
    `BREAKS game.list, ${listed}/likeCount: no type "integer" → it`,
  ],
  [
    'null in replies',
    (document) => (schema(document, 'GameSummary')['properties'].title.type = ['string', 'null']),
    `BREAKS game.list, ${listed}/title: no type "null" → it`,
    `new game.list, ${listed}/title: the type "null" → nothing`,
  ],
  [
    'a value in replies',
    (document) => schema(document, 'TotalRelation')['enum'].push('about'),
    'BREAKS game.list, 200 /result/data/json/totalRelation: no value "about" → it',
    'new game.list, 200 /result/data/json/totalRelation: the value "about" → nothing',
  ],
  [
    'a value of inputs',
    (document) => schema(document, 'GameSort')['enum'].shift(),
    'BREAKS game.list, the request /json/sortBy: the value "latest" → nothing',
    'new game.list, the request /json/sortBy: no value "latest" → it',
  ],
  [
    'a required member of inputs',
    (document) => {
      const input = schema(document, 'GameInput');
      input['properties'].language = { type: 'string' };
      input['required'].push('language');
    },
    'BREAKS game.create, the request /json/language: no need of the member → it is required',
    'BREAKS game.create, the request /json/language: the member → nothing',
  ],
  [
    'a member of inputs',
    (document) => (schema(document, 'GameInput')['properties'].language = { type: 'string' }),
    'new game.create, the request /json/language: no such member → it may be given',
    'BREAKS game.create, the request /json/language: the member → nothing',
  ],
  [
    'a limit of inputs',
    (document) => (schema(document, 'GameInput')['properties'].title.maxLength = 100),
    'BREAKS game.create, the request /json/title: maxLength 200 → 100',
    'new game.create, the request /json/title: maxLength 100 → 200',
  ],
  [
    'that one of several members is required',
    (document) => (schema(document, 'GameInput')['anyOf'] = [{ required: ['coverUrl'] }, { required: ['version'] }]),
    'BREAKS game.create, the request /json: no member of several to be required → one of coverUrl, version',
    'new game.create, the request /json: one of coverUrl, version to be required → no member of several',
  ],
  [
    'that a key is needed',
    (document) => (document['paths']['/api/trpc/game.list'].post.security = [{ apiKey: [] }]),
    'BREAKS game.list, the operation: no need of a key → it needs one',
    'new game.list, the operation: the scopes [[]] → [[],[]]',
  ],
  [
    'a status',
    (document) =>
      (document['paths']['/api/trpc/game.list'].post.responses['418'] =
        document['paths']['/api/trpc/game.list'].post.responses['400']),
    'new game.list, the operation: no status 418 → it may come',
    'new game.list, the operation: the status 418 → nothing',
  ],
  [
    'the path',
    (document) => {
      document['paths']['/api/v2/game.list'] = document['paths']['/api/trpc/game.list'];
      delete document['paths']['/api/trpc/game.list'];
    },
    'BREAKS game.list, the operation: /api/trpc/game.list → /api/v2/game.list',
    'BREAKS game.list, the operation: /api/v2/game.list → /api/trpc/game.list',
  ],
  [
    'the values of a map',
    (document) => (schema(document, 'SocialLinks')['additionalProperties'] = { type: 'integer' }),
    'BREAKS user.me, 200 /result/data/json/socialLinks/*: no type "integer" → it',
    'BREAKS user.me, 200 /result/data/json/socialLinks/*: no type "string" → it',
  ],
];

describe('a change of the service', () => {
  test.each(changes)('in %s is told, either way', (_, change, forward, reversed) => {
    const other = changed(change);
    expect(told(current, other)).toContain(forward);
    const back = told(other, current);
    expect(back).toContain(reversed);
  });
});
