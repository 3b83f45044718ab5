// Mutants of an OpenAPI document: each node that some operations refer to × each edit that JSON Schema 2020-12 and OpenAPI 3.1 allow
// there. The kinds are those of the grammars, whatever a comparison knows of them.

// oxlint-disable-next-line typescript/no-explicit-any -- a document that is changed anywhere
export type Json = Record<string, any>;
/** The way to a node of a document. */
export type Path = readonly string[];

/** An edit of a node. */
export interface Mutant {
  /** The keyword, or the object of OpenAPI and its member: a row of the results. */
  kind: string;
  /** What is done to it. */
  edit: string;
  path: Path;
  apply: (document: Json) => void;
}

type Edit = readonly [kind: string, edit: string, act: (node: Json, document: Json) => void];

export const nodeAt = (document: Json, path: Path): Json =>
  path.reduce<Json>((holder, name) => holder?.[name] as Json, document);
export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const pathOf = (reference: string): Path => reference.split('/').slice(1);
export const resolved = (document: Json, node: Json): Json =>
  typeof node['$ref'] === 'string' ? resolved(document, nodeAt(document, pathOf(node['$ref']))) : node;

const set =
  (name: string, value: unknown) =>
  (node: Json): void =>
    void (node[name] = structuredClone(value));
const drop =
  (name: string) =>
  (node: Json): void =>
    void delete node[name];
const rename = (holder: Json, from: string, to: string): void => {
  holder[to] = holder[from];
  delete holder[from];
};

/** The keywords that hold a schema, several, or several by their names. */
const ONE = ['items', 'additionalProperties', 'if', 'then', 'else', 'not', 'propertyNames', 'contains'];
const LIST = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const NAMED = ['properties', 'patternProperties', 'dependentSchemas'];

const FRESH = 'fresh';
const HUGE = 1_000_000;
const TEXT = { type: 'string' };

/** Limits by the type that they are for: what refuses nearly all, and what refuses hardly any. */
const LIMITS: Record<string, [name: string, strict: number, loose: number][]> = {
  string: [
    ['minLength', HUGE, 0],
    ['maxLength', 0, HUGE],
  ],
  number: [
    ['minimum', HUGE, -HUGE],
    ['maximum', -HUGE, 2 ** 52],
    ['exclusiveMinimum', HUGE, -HUGE],
    ['exclusiveMaximum', -HUGE, 2 ** 52],
    ['multipleOf', 997, 1],
  ],
  array: [
    ['minItems', HUGE, 0],
    ['maxItems', 0, HUGE],
  ],
  object: [
    ['minProperties', HUGE, 0],
    ['maxProperties', 0, HUGE],
  ],
};

/** What else can be added to schemas of a type. */
const additionsTo = (type: string, schema: Json): [name: string, values: unknown[]][] => {
  const [first = FRESH] = Object.keys((schema['properties'] ?? {}) as Json);
  if (type === 'string')
    return [
      ['pattern', ['^never$', '^']],
      ['format', ['date-time', 'uuid', 'uri']],
      ['contentEncoding', ['base64']],
      ['contentMediaType', ['application/json']],
      ['contentSchema', [TEXT]],
    ];
  if (type === 'array')
    return [
      ['uniqueItems', [true]],
      ['contains', [{ const: FRESH }, true]],
      ['minContains', [1]],
      ['maxContains', [0]],
      ['prefixItems', [[{ const: FRESH }]]],
      ['unevaluatedItems', [false]],
    ];
  if (type === 'object')
    return [
      ['additionalProperties', [false, true, TEXT]],
      ['patternProperties', [{ '^.': { type: 'null' } }, { '^x-': TEXT }]],
      ['propertyNames', [{ maxLength: 1 }, { maxLength: HUGE }]],
      ['dependentRequired', [{ [first]: [FRESH] }]],
      ['dependentSchemas', [{ [first]: { required: [FRESH] } }]],
      ['unevaluatedProperties', [false]],
      ['discriminator', [{ propertyName: first }]],
    ];
  return [];
};

const OTHER_TYPES = ['boolean', 'string', 'number', 'object', 'array', 'null'];

function* editsOfType(schema: Json): Generator<Edit> {
  const types = [schema['type'] as string | string[]].flat();
  const other = OTHER_TYPES.find((type) => !types.includes(type) && !(type === 'number' && types.includes('integer')));
  const notNull = types.find((type) => type !== 'null');
  const loose = types.map((type) => (type === 'integer' ? 'number' : type));
  yield ['type', 'remove', drop('type')];
  yield ['type', 'replace', set('type', other)];
  yield ['type', 'add another', set('type', [...types, other])];
  if (types.includes('null')) yield ['type', 'remove null', set('type', notNull)];
  else yield ['type', 'add null', set('type', [...types, 'null'])];
  if (types.includes('integer')) yield ['type', 'loosen', set('type', loose)];
}

function* editsOfMembers(schema: Json): Generator<Edit> {
  const members = Object.keys((schema['properties'] ?? {}) as Json);
  const required = (schema['required'] ?? []) as string[];
  const without = (node: Json, name: string): void => void (node['required'] = required.filter((one) => one !== name));
  const change = (name: string, value: unknown) => (node: Json) =>
    void (node['properties'][name] = structuredClone(value));
  for (const name of members) {
    yield ['properties', 'remove one', (node) => (delete node['properties'][name], without(node, name))];
    if (required.includes(name))
      yield ['properties', 'remove one that is required', (node) => void delete node['properties'][name]];
    const renameIt = (node: Json) => (rename(node['properties'] as Json, name, `${name}New`), without(node, name));
    yield ['properties', 'rename one', renameIt];
    yield ['properties', 'of any value', change(name, {})];
    yield ['properties', 'of no value', (node) => (change(name, false)(node), without(node, name))];
    if (required.includes(name)) yield ['required', 'remove one', (node) => without(node, name)];
    else yield ['required', 'add one', set('required', [...required, name])];
  }
  if (members.length > 0) yield ['properties', 'remove', drop('properties')];
  if (required.length > 0) yield ['required', 'remove', drop('required')];
  const fresh = (node: Json): void => void (node['properties'] = { ...(node['properties'] as Json), [FRESH]: TEXT });
  yield ['properties', 'add one', fresh];
  const freshAndRequired = (node: Json) => (fresh(node), set('required', [...required, FRESH])(node));
  yield ['properties', 'add one that is required', freshAndRequired];
  yield ['required', 'add one that is no member', set('required', [...required, FRESH])];
}

/** Another value than one that takes the place of what is left out. */
export const otherThan = (document: Json, schema: Json, value: unknown): unknown[] => {
  const { type, enum: words, minimum = 0 } = { ...resolved(document, schema), ...schema };
  if (Array.isArray(words)) return words.filter((word) => word !== value);
  const [own] = [type].flat() as string[];
  if (own === 'boolean') return [value !== true];
  if (own === 'integer' || own === 'number') return [value === undefined ? minimum : Number(value) + 1];
  return [own === 'array' ? [] : own === 'object' ? {} : FRESH];
};

function* editsOfSchema(document: Json, schema: Json): Generator<Edit> {
  const meant = resolved(document, schema);
  const isReference = meant !== schema;
  const types = [(meant['type'] ?? []) as string | string[]].flat();
  if (isReference) {
    yield ['$ref', 'copy', (node) => (drop('$ref')(node), Object.assign(node, structuredClone(meant), { ...node }))];
    yield ['$ref', 'remove', drop('$ref')];
    const other = String(schema['$ref']).endsWith('NoInput') ? 'SuperjsonMeta' : 'NoInput';
    yield ['$ref', 'replace', set('$ref', `#/components/schemas/${other}`)];
  }
  if (schema['type'] !== undefined) yield* editsOfType(schema);
  else yield ['type', 'add', set('type', 'boolean')];
  if (types.includes('object') && !isReference) yield* editsOfMembers(schema);
  for (const type of types.map((one) => (one === 'integer' ? 'number' : one))) {
    for (const [name, strict, loose] of LIMITS[type] ?? []) {
      const value = schema[name] as number | undefined;
      if (value === undefined) {
        yield [name, 'add', set(name, strict)];
        yield [name, 'add a loose one', set(name, loose)];
        continue;
      }
      const isMaximum = /^(?:max|exclusiveMax)/.test(name);
      yield [name, 'remove', drop(name)];
      yield [name, 'tighten', set(name, strict)];
      yield [name, 'tighten by one', set(name, isMaximum ? value - 1 : value + 1)];
      yield [name, 'loosen', set(name, isMaximum ? value * 2 : Math.min(0, value - 1))];
    }
    for (const [name, values] of additionsTo(type, meant)) {
      if (schema[name] === undefined) for (const value of values) yield [name, 'add', set(name, value)];
      else {
        yield [name, 'remove', drop(name)];
        for (const value of values.filter((one) => one !== schema[name])) yield [name, 'replace', set(name, value)];
      }
    }
  }
  const words = schema['enum'] as unknown[] | undefined;
  if (words) {
    yield ['enum', 'remove', drop('enum')];
    yield ['enum', 'add a word', set('enum', [...words, FRESH])];
    for (const at of words.keys()) yield ['enum', 'remove a word', set('enum', words.toSpliced(at, 1))];
  } else yield ['enum', 'add', set('enum', [FRESH])];
  if (schema['const'] === undefined) yield ['const', 'add', set('const', FRESH)];
  else {
    yield ['const', 'remove', drop('const')];
    yield ['const', 'replace', set('const', FRESH)];
  }
  for (const name of ['anyOf', 'oneOf', 'allOf']) {
    const listed = schema[name] as Json[] | undefined;
    if (listed) {
      yield [name, 'remove', drop(name)];
      yield [name, 'add one', set(name, [...listed, { type: 'boolean' }])];
      for (const at of listed.keys()) yield [name, 'remove one', set(name, listed.toSpliced(at, 1))];
    } else {
      yield [name, 'add', set(name, [{ const: FRESH }, ...(name === 'allOf' ? [] : [{ const: 1 }])])];
      const others = name === 'allOf' ? [] : [{ type: types.includes('boolean') ? 'string' : 'boolean' }];
      const wrap = (node: Json): void => {
        const { default: _, 'x-default': _x, ...own } = node;
        for (const keyword of Object.keys(own)) delete node[keyword];
        node[name] = [own, ...others];
      };
      yield [name, 'wrap', wrap];
    }
  }
  if (schema['not'] === undefined) {
    yield ['not', 'add', set('not', {})];
    yield ['not', 'add a loose one', set('not', { const: FRESH })];
  } else yield ['not', 'remove', drop('not')];
  if (schema['if'] === undefined) {
    yield ['if', 'add', (node) => (set('if', true)(node), set('then', false)(node))];
    yield ['if', 'add', (node) => (set('if', { const: FRESH })(node), set('else', false)(node))];
    yield ['then', 'add', set('then', false)];
  } else {
    for (const name of ['if', 'then', 'else'].filter((one) => schema[one] !== undefined)) {
      yield [name, 'remove', drop(name)];
      yield [name, 'replace', set(name, true)];
      yield [name, 'replace', set(name, false)];
    }
    for (const name of ['then', 'else'].filter((one) => schema[one] === undefined))
      yield [name, 'add', set(name, false)];
  }
  const fallbacks = ['default', 'x-default'].filter((name) => schema[name] !== undefined);
  for (const name of fallbacks) {
    yield [name, 'remove', drop(name)];
    for (const value of otherThan(document, schema, schema[name])) yield [name, 'replace', set(name, value)];
  }
  if (fallbacks.length === 0) yield ['default', 'add', set('default', otherThan(document, schema, undefined)[0])];
  for (const name of ['readOnly', 'writeOnly']) yield [name, 'add', set(name, true)];
  yield ['deprecated', 'add', set('deprecated', true)];
  for (const name of ['title', 'description', '$comment']) yield ['words for people', name, set(name, 'Other words.')];
  yield ['words for people', 'examples', set('examples', [FRESH])];
  yield ['$defs', 'add', set('$defs', { [FRESH]: TEXT })];
  yield ['$anchor', 'add', set('$anchor', FRESH)];
  yield ['xml', 'add', set('xml', { name: FRESH })];
  yield ['an extension', 'add', set('x-fresh', true)];
}

function* editsOfParameter(parameter: Json): Generator<Edit> {
  yield ['parameter', 'require', set('required', parameter['required'] !== true)];
  yield ['parameter', 'rename', set('name', 'X-Fresh')];
  yield ['parameter', 'move', set('in', 'query')];
  yield ['parameter', 'remove its schema', drop('schema')];
  yield ['parameter', 'style', set('explode', true)];
  yield ['deprecated', 'add', set('deprecated', true)];
  yield ['words for people', 'description', set('description', 'Other words.')];
}

function* editsOfHeader(header: Json): Generator<Edit> {
  yield ['response header', 'require', set('required', header['required'] !== true)];
  yield ['response header', 'remove its schema', drop('schema')];
  yield ['deprecated', 'add', set('deprecated', true)];
  yield ['words for people', 'description', set('description', 'Other words.')];
}

const OTHER_MEDIA = 'application/vnd.fresh+json';

function* editsOfContent(kind: string): Generator<Edit> {
  const add = ({ content }: Json): void => void (content[OTHER_MEDIA] = structuredClone(content['application/json']));
  const ofJson = (name: string, value?: unknown) => (node: Json) =>
    (value === undefined ? drop(name) : set(name, value))(node['content']['application/json'] as Json);
  yield [kind, 'rename a media type', ({ content }) => rename(content as Json, 'application/json', OTHER_MEDIA)];
  yield [kind, 'add a media type', add];
  yield [kind, 'remove its content', drop('content')];
  yield [kind, 'remove its schema', ofJson('schema')];
  yield [kind, 'encoding', ofJson('encoding', { [FRESH]: { contentType: 'text/plain' } })];
  yield ['words for people', 'description', set('description', 'Other words.')];
}

/** Another status of the same kind. */
const otherStatus = (status: string): string => (status === '200' ? '201' : status.startsWith('4') ? '418' : '599');

function* editsOfResponses(responses: Json): Generator<Edit> {
  for (const [status, { content }] of Object.entries(responses) as [string, Json][]) {
    yield ['status', 'remove', drop(status)];
    yield ['status', 'move', (node) => rename(node, status, otherStatus(status))];
    const examples = Object.keys((content?.['application/json'].examples ?? {}) as Json);
    for (const name of examples.filter((one) => /^[A-Z_]+$/.test(one))) {
      const examplesIn = (node: Json): Json => node[status]['content']['application/json'].examples as Json;
      const failureIn = (node: Json): Json => examplesIn(node)[name].value.error.json as Json;
      const move = (node: Json): void => {
        const moved = structuredClone(node[status] as Json);
        moved['content']['application/json'].examples = { [name]: examplesIn(node)[name] as Json };
        node[otherStatus(status)] = moved;
        delete examplesIn(node)[name];
      };
      yield ['reason', 'remove', (node) => void delete examplesIn(node)[name]];
      yield ['reason', 'rename', (node) => rename(examplesIn(node), name, `${name}_NEW`)];
      yield ['reason', 'other code', (node) => void (failureIn(node)['code'] -= 1)];
      yield ['reason', 'other words', (node) => set('message', 'Other words.')(failureIn(node))];
      yield ['reason', 'move', move];
    }
  }
  for (const status of ['201', '418', '599', 'default']) {
    const like = responses[status === '201' ? '200' : '400'] as Json;
    yield ['status', 'add', set(status, like)];
  }
}

function* editsOfHeaders(response: Json): Generator<Edit> {
  for (const name of Object.keys((response['headers'] ?? {}) as Json)) {
    yield ['response header', 'remove', ({ headers }) => void delete headers[name]];
    yield ['response header', 'rename', ({ headers }) => rename(headers as Json, name, `${name}-New`)];
  }
  const known = response['headers'] as Json | undefined;
  for (const [edit, header] of [
    ['add', { schema: TEXT }],
    ['add one that is required', { required: true, schema: TEXT }],
  ] as const)
    yield ['response header', edit, set('headers', { ...known, 'X-Fresh': header })];
  yield ['links', 'add', set('links', { [FRESH]: { operationId: 'user.me' } })];
}

function* editsOfOperation(id: string, operation: Json): Generator<Edit> {
  const path = `/api/trpc/${id}`;
  const post = (act: (node: Json, document: Json) => void) => (item: Json, document: Json) =>
    act(item['post'] as Json, document);
  yield ['operation', 'remove', (_, { paths }) => void delete paths[path]];
  yield ['operation', 'other path', (_, { paths }) => rename(paths as Json, path, `${path}New`)];
  yield ['operation', 'other method', (item) => rename(item, 'post', 'put')];
  yield ['operation', 'other id', post(set('operationId', `${id}New`))];
  yield ['operation', 'no id', post(drop('operationId'))];
  yield ['operation', 'add a method', (item) => void (item['put'] = structuredClone(item['post']))];
  for (const name of ['summary', 'description']) yield ['words for people', name, post(set(name, 'Other words.'))];
  yield ['words for people', 'tags', post(set('tags', [FRESH]))];
  yield ['deprecated', 'add', post(set('deprecated', true))];
  yield ['servers', 'add', post(set('servers', [{ url: 'https://fresh.example' }]))];
  yield ['an extension', 'add', post(set('x-fresh', true))];
  const sets = (operation['security'] ?? []) as Json[];
  const scoped = (change: (scopes: string[]) => string[]) =>
    post(
      set(
        'security',
        sets.map((one) => (one['ApiKey'] ? { ApiKey: change(one['ApiKey'] as string[]) } : one)),
      ),
    );
  const isPublic = sets.some((one) => Object.keys(one).length === 0);
  yield ['security', 'remove', post(drop('security'))];
  for (const scope of ['user:write', 'webhook:write'])
    yield ['security', 'add a scope', scoped((scopes) => [...scopes, scope])];
  yield ['security', 'remove scopes', scoped(() => [])];
  if (isPublic) yield ['security', 'need a key', post(set('security', [{ ApiKey: [] }]))];
  else yield ['security', 'need no key', post(set('security', [{}, ...sets]))];
  for (const others of [[], sets])
    yield [
      'security',
      others === sets ? 'add a scheme' : 'other scheme',
      (item, { components }) => {
        components.securitySchemes.Fresh = { type: 'apiKey', in: 'header', name: 'X-Fresh' };
        set('security', [...others, { Fresh: [] }])(item['post'] as Json);
      },
    ];
  const own = (operation['parameters'] ?? []) as Json[];
  for (const at of own.keys()) yield ['parameter', 'remove', post(set('parameters', own.toSpliced(at, 1)))];
  for (const place of ['header', 'query', 'cookie'])
    for (const required of [true, false]) {
      const more = [...own, { in: place, name: 'X-Fresh', required, schema: TEXT }];
      yield ['parameter', required ? 'add one that is required' : 'add', post(set('parameters', more))];
    }
  yield ['requestBody', 'remove', post(drop('requestBody'))];
  const isRequired = operation['requestBody']?.required === true;
  yield ['requestBody', 'required', post(({ requestBody }) => set('required', !isRequired)(requestBody as Json))];
}

const editsOfScheme: Edit[] = [
  ['security', 'remove the scheme', (_, { components }) => void delete components.securitySchemes.ApiKey],
  [
    'security',
    'scheme of another header',
    (node) => (drop('scheme')(node), Object.assign(node, { type: 'apiKey', in: 'header', name: 'X-Key' })),
  ],
  ['security', 'another scheme', set('scheme', 'basic')],
  ['security', 'other form of keys', set('bearerFormat', FRESH)],
  ['words for people', 'description', set('description', 'Other words.')],
];

/** The schemas that one holds or refers to, and itself, each once. */
export const schemasFrom = (document: Json, path: Path, seen = new Set<string>()): Path[] => {
  const schema = nodeAt(document, path);
  if (!isObject(schema) || seen.has(path.join('/'))) return [];
  seen.add(path.join('/'));
  const inner = [
    ...(typeof schema['$ref'] === 'string' ? [pathOf(schema['$ref'])] : []),
    ...ONE.map((name) => [...path, name]),
    ...[...LIST, ...NAMED].flatMap((name) =>
      Object.keys((schema[name] ?? {}) as Json).map((key) => [...path, name, key]),
    ),
  ];
  return [path, ...inner.flatMap((one) => schemasFrom(document, one, seen))];
};

/** All mutants of the nodes that operations refer to, each node once. */
export const mutantsOf = (document: Json, ids: readonly string[]): Mutant[] => {
  const found: Mutant[] = [];
  const seen = new Set<string>();
  const add = (path: Path, edits: Iterable<Edit>): void => {
    for (const [kind, edit, act] of edits)
      found.push({ kind, edit, path, apply: (copy) => act(nodeAt(copy, path), copy) });
  };
  const isNew = (path: Path): boolean => !seen.has(path.join('/')) && seen.add(path.join('/')) !== undefined;
  /** Follows a reference, if there is one. */
  const target = (path: Path): Path => {
    const { $ref } = nodeAt(document, path);
    return typeof $ref === 'string' ? target(pathOf($ref)) : path;
  };
  const visitSchema = (path: Path): void => {
    for (const own of schemasFrom(document, path, seen)) add(own, editsOfSchema(document, nodeAt(document, own)));
  };
  const visitNamed = (path: Path, edits: (node: Json) => Iterable<Edit>): void => {
    const own = target(path);
    if (!isNew(own)) return;
    const node = nodeAt(document, own);
    add(own, edits(node));
    if (isObject(node['schema'])) visitSchema([...own, 'schema']);
  };
  const visitContent = (path: Path, kind: string): void => {
    const { content } = nodeAt(document, path);
    if (!isObject(content)) return;
    add(path, editsOfContent(kind));
    for (const type of Object.keys(content)) visitSchema([...path, 'content', type, 'schema']);
  };
  for (const id of ids) {
    const item = ['paths', `/api/trpc/${id}`];
    const post = [...item, 'post'];
    const operation = nodeAt(document, post);
    add(item, editsOfOperation(id, operation));
    for (const at of ((operation['parameters'] ?? []) as Json[]).keys())
      visitNamed([...post, 'parameters', String(at)], editsOfParameter);
    visitContent([...post, 'requestBody'], 'requestBody');
    add([...post, 'responses'], editsOfResponses(operation['responses'] as Json));
    for (const [status, response] of Object.entries(operation['responses'] as Json) as [string, Json][]) {
      const path = [...post, 'responses', status];
      add(path, editsOfHeaders(response));
      for (const name of Object.keys((response['headers'] ?? {}) as Json))
        visitNamed([...path, 'headers', name], editsOfHeader);
      visitContent(path, 'response');
    }
  }
  add(['components', 'securitySchemes', 'ApiKey'], editsOfScheme);
  return found;
};

/** Some of them, the same each time: a stride that has no divisor in common with their number passes through all. */
export const sampled = <T>(all: readonly T[], count: number, seed = 7): T[] => {
  if (count >= all.length) return [...all];
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));
  let stride = Math.floor(all.length * 0.618);
  while (divisor(stride, all.length) !== 1) stride += 1;
  return Array.from({ length: count }, (_, n) => all[(seed + n * stride) % all.length] as T);
};
