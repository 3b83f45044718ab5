import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Answer, SentCall } from './samples.ts';
import { isObject, type Json, nodeAt, otherThan, type Path, pathOf, resolved, schemasFrom } from './mutants.ts';

// How a service answers that implements a mutated document: it takes the requests that this allows, and of the replies that it newly
// allows it gives each of several.
//
// Where a mutant only allows fewer replies than before, or more failures (a status or a reason that is added), the truth is that the
// answers stay as they were: a service that gives fewer of them cannot be made from one that gives all. A member that the document makes
// `writeOnly` is left out, and a request with one that is `readOnly` is refused.

/** A call, and how the service answers it. */
export interface Exchange extends SentCall {
  answer: Answer;
}

type Body = { error?: { json: { code: number; data: { reason: string } } } } | undefined;
const reasonOf = ({ body }: Answer): string | undefined => (body as Body)?.error?.json.data.reason;

/** Says of values whether they are as the schema at a path of a document. */
const validatorsOf = (document: Json) => {
  const ajv = new Ajv2020({ strict: false, logger: false, meta: false, validateSchema: false });
  addFormats.default(ajv);
  const { paths, components } = JSON.parse(
    JSON.stringify(document, (name, value: unknown) => (name === 'examples' || name === 'example' ? undefined : value)),
  ) as Json;
  ajv.addSchema({ $id: 'document', paths: paths as unknown, components: components as unknown });
  const known = new Map<string, (value: unknown) => boolean>();
  return (path: Path): ((value: unknown) => boolean) => {
    const pointer = path.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
    const validate =
      known.get(pointer) ?? (ajv.compile({ $ref: `document#/${pointer}` }) as (value: unknown) => boolean);
    known.set(pointer, validate);
    return validate;
  };
};
type Validators = ReturnType<typeof validatorsOf>;

/** Of a value that goes. */
const LEFT_OUT = Symbol('left out');

interface Alteration {
  act: (value: unknown) => unknown;
  /** Whether it tells also where it was allowed before. */
  isForced?: true;
}

/** What a reply may have in place of a value: the mutant allows some of these. */
const alterationsFor = (was: Json, is: Json): Alteration[] => {
  const constants = [
    null,
    true,
    1,
    1.5,
    -1,
    'fresh',
    '',
    [],
    {},
    '2020-01-01T00:00:00Z',
    '019a3c5e-8e20-7b52-8c2f-6a1d9b3e7f02',
    'https://fresh.example',
    ...((is['enum'] ?? []) as unknown[]),
    ...('const' in is ? [is['const']] : []),
  ];
  const limits = [was, is].flatMap((schema) =>
    Object.entries(schema)
      .filter((entry): entry is [string, number] => typeof entry[1] === 'number')
      .flatMap(([, limit]) => [limit - 1, limit, limit + 1]),
  );
  const names = [...new Set([was, is].flatMap((schema) => Object.keys((schema['properties'] ?? {}) as Json)))];
  const ofArray = (act: (list: unknown[]) => unknown) => (value: unknown) =>
    Array.isArray(value) ? act(value) : value;
  const ofObject = (act: (members: Json) => unknown) => (value: unknown) => (isObject(value) ? act(value) : value);
  const without = (name: string) =>
    ofObject((members) => Object.fromEntries(Object.entries(members).filter(([own]) => own !== name)));
  const of = (value: unknown) => () => value;
  const acts = [
    ...constants.map(of),
    ...limits.map(of),
    ...limits.flatMap((limit) =>
      limit > 0 && limit < 10_000
        ? [of('x'.repeat(limit)), ofArray((list) => Array.from({ length: limit }, () => list[0] ?? null))]
        : [],
    ),
    ofArray((list) => [...list, ...list]),
    ...[null, 1, 'fresh', {}].map((value) => ofArray((list) => list.map(() => value))),
    ...[null, 1, 'fresh'].map((value) =>
      ofObject((members) => Object.fromEntries(Object.keys(members).map((name) => [name, value]))),
    ),
    ofObject((members) => ({ ...members, fresh: 'fresh' })),
    ...names.flatMap((name) => [
      without(name),
      ...[null, 1, 'fresh'].map((value) => ofObject((members) => ({ ...members, [name]: value }))),
    ]),
  ];
  const forced = [
    ...names.filter((name) => !((is['properties'] ?? {}) as Json)[name]).map(without),
    ...(is['contentEncoding'] && !was['contentEncoding']
      ? [(value: unknown) => (typeof value === 'string' ? btoa(encodeURI(value)) : value)]
      : []),
    ...(is['contentMediaType'] && !was['contentMediaType']
      ? [(value: unknown) => (typeof value === 'string' ? JSON.stringify(value) : value)]
      : []),
    ...(is['writeOnly'] && !was['writeOnly'] ? [() => LEFT_OUT] : []),
  ];
  return [...acts.map((act) => ({ act })), ...forced.map((act) => ({ act, isForced: true as const }))];
};

/** Applies an alteration to each value of a reply that the schema at a path describes. */
const altered = (
  document: Json,
  from: Path,
  value: unknown,
  target: string,
  act: (value: unknown) => unknown,
): unknown => {
  const schema = nodeAt(document, from);
  if (!isObject(schema)) return value;
  if (from.join('/') === target) return act(value);
  const within = (path: Path, one: unknown): unknown => altered(document, path, one, target, act);
  let now = typeof schema['$ref'] === 'string' ? within(pathOf(schema['$ref']), value) : value;
  for (const name of ['anyOf', 'oneOf', 'allOf'])
    for (const key of Object.keys((schema[name] ?? {}) as Json)) now = within([...from, name, key], now);
  if (Array.isArray(now) && schema['items']) return now.map((one) => within([...from, 'items'], one));
  if (!isObject(now)) return now;
  const members = (schema['properties'] ?? {}) as Json;
  return Object.fromEntries(
    Object.entries(now)
      .map(([name, one]) => [
        name,
        within(name in members ? [...from, 'properties', name] : [...from, 'additionalProperties'], one),
      ])
      .filter(([, one]) => one !== LEFT_OUT),
  );
};

const SCHEMA = ['content', 'application/json', 'schema'];
const itemOf = (id: string): string[] => ['paths', `/api/trpc/${id}`];
const namedIn = (holder: Json | undefined): [string, Json][] => Object.entries(holder ?? {});
const exampleOf = (response: Json | undefined, reason: string): Json | undefined =>
  nodeAt(response ?? {}, ['content', 'application/json', 'examples', reason, 'value', 'error', 'json']);

/** Makes services of documents: `call` has the original answer, to who holds `scopes`. */
export const servicesFor = (
  original: Json,
  call: (sent: SentCall) => Promise<Answer>,
  failure: Json,
  scopes: readonly string[],
) => {
  const usual = validatorsOf(original);
  const reaches = new Map<string, ReadonlySet<string>>();
  /** Whether a schema is, or refers to, the one at a path. */
  const isIn = (path: Path, start: Path): boolean => {
    const key = start.join('/');
    const reach = reaches.get(key) ?? new Set(schemasFrom(original, start).map((one) => one.join('/')));
    reaches.set(key, reach);
    return reach.has(path.join('/'));
  };
  const asJson = { 'content-type': 'application/json' };
  const refusal = (status: number, reason: string): Answer => {
    const body = structuredClone(failure);
    Object.assign(body['error'].json.data as Json, { reason, httpStatus: status });
    return { status, headers: asJson, body };
  };

  return (mutated: Json, path: Path) => {
    const node = path.join('/');
    let made: Validators | undefined;
    const now = (at: Path) => (made ??= validatorsOf(mutated))(at);

    /** Why the service refuses a call. */
    const refused = ({ id, headers, body: sent }: SentCall): Answer | undefined => {
      // The client of tRPC sends null for no input, which the service takes, whatever its document says.
      const { json, ...rest } = sent as Json;
      const body = json === null ? rest : sent;
      const post = nodeAt(mutated, [...itemOf(id), 'post']) as Json | undefined;
      if (!post) return refusal(404, 'PROCEDURE_NOT_FOUND');
      const bearer = JSON.stringify(original['components'].securitySchemes.ApiKey.scheme);
      const sets = (post['security'] ?? []) as Record<string, string[]>[];
      const isHeld = ([name, needed]: [string, string[]]): boolean =>
        JSON.stringify(mutated['components'].securitySchemes[name]?.scheme) === bearer &&
        headers['authorization'] !== undefined &&
        needed.every((scope) => scopes.includes(scope));
      if (sets.length > 0 && !sets.some((one) => Object.entries(one).every(isHeld)))
        return headers['authorization'] === undefined ? refusal(401, 'KEY_MISSING') : refusal(403, 'SCOPE_MISSING');
      for (const [at, written] of ((post['parameters'] ?? []) as Json[]).entries()) {
        const { name, in: place, required } = resolved(mutated, written);
        const value = place === 'header' ? headers[String(name).toLowerCase()] : undefined;
        const own =
          typeof written['$ref'] === 'string'
            ? pathOf(written['$ref'])
            : [...itemOf(id), 'post', 'parameters', String(at)];
        const isFine =
          value === undefined
            ? required !== true
            : !nodeAt(mutated, [...own, 'schema']) || now([...own, 'schema'])(value);
        if (!isFine) return refusal(400, 'VALIDATION_FAILED');
      }
      const [type = ''] = (headers['content-type'] ?? '').split(';');
      if (!nodeAt(post, ['requestBody', 'content', type])) return refusal(415, 'UNSUPPORTED_MEDIA_TYPE');
      const start = [...itemOf(id), 'post', 'requestBody', ...SCHEMA];
      if (!nodeAt(mutated, start)) return undefined;
      const isTouched = node.startsWith(start.join('/')) || isIn(path, start);
      if (!(isTouched ? now : usual)(start)(body)) return refusal(400, 'VALIDATION_FAILED');
      const isReadOnly = isTouched && nodeAt(mutated, path)?.['readOnly'] === true;
      let isSent = false;
      if (isReadOnly) altered(original, start, body, node, (value) => ((isSent = true), value));
      return isSent ? refusal(400, 'VALIDATION_FAILED') : undefined;
    };

    /** A request with what the service newly takes for what is left out. */
    const filled = (at: Path, value: unknown): unknown => {
      const [a, b] = [nodeAt(original, at), nodeAt(mutated, at)];
      if (!isObject(a) || !isObject(b)) return value;
      if (typeof a['$ref'] === 'string') return filled(pathOf(a['$ref']), value);
      if (Array.isArray(value)) return value.map((one) => filled([...at, 'items'], one));
      if (!isObject(value)) return value;
      const fallback = (document: Json, schema: Json): unknown => {
        const { default: own, 'x-default': other } = { ...resolved(document, schema), ...schema };
        return own ?? other;
      };
      const added = namedIn(b['properties'] as Json).flatMap(([name, member]): [string, unknown][] => {
        const was = (a['properties'] as Json | undefined)?.[name] as Json | undefined;
        if (!isObject(was) || !isObject(member)) return name in value ? [[name, value[name]]] : [];
        if (name in value) return [[name, filled([...at, 'properties', name], value[name])]];
        const [from, to] = [fallback(original, was), fallback(mutated, member)];
        if (JSON.stringify(from) === JSON.stringify(to)) return [];
        return [[name, to ?? otherThan(original, was, from)[0]]];
      });
      return { ...value, ...Object.fromEntries(added) };
    };

    const usualAnswer = async (sent: Exchange): Promise<Answer> => {
      const start = [...itemOf(sent.id), 'post', 'requestBody', ...SCHEMA];
      if (!isIn(path, start)) return sent.answer;
      const body = filled(start, sent.body);
      return JSON.stringify(body) === JSON.stringify(sent.body) ? sent.answer : call({ ...sent, body });
    };

    /** An answer with the status, the reason, the media type and the headers that the mutant has for it. */
    const moved = (id: string, answer: Answer): Answer => {
      const [was, is] = [original, mutated].map((document) =>
        nodeAt(document, [...itemOf(id), 'post', 'responses']),
      ) as [Json, Json];
      const own = was[answer.status] as Json | undefined;
      if (!own) return answer;
      const fresh = Object.keys(is).find((status) => !(status in was));
      const reason = reasonOf(answer);
      let { status } = answer;
      let body = answer.body;
      if (reason !== undefined && exampleOf(own, reason)) {
        const place = namedIn(is).find(([, response]) => exampleOf(response, reason))?.[0];
        const examples = nodeAt(is, [String(status), 'content', 'application/json', 'examples']) as Json | undefined;
        const other = Object.keys(examples ?? {}).find((name) => !exampleOf(own, name));
        status = Number(place ?? status);
        const { code, message } = {
          ...exampleOf(own, reason),
          ...exampleOf(is[place ?? ''] as Json | undefined, reason),
        };
        const isOther =
          JSON.stringify(exampleOf(own, reason)) !==
          JSON.stringify(exampleOf(is[place ?? ''] as Json | undefined, reason));
        const json = structuredClone((body as Json)['error'].json) as Json;
        if (isOther) Object.assign(json, { code, message });
        Object.assign(json['data'] as Json, {
          reason: place === undefined ? (other ?? 'INTERNAL') : reason,
          httpStatus: status,
        });
        body = { error: { json } };
      }
      if (!(status in is))
        status = fresh !== undefined && fresh !== 'default' ? Number(fresh) : status < 400 ? 204 : 500;
      const response = is[status] as Json | undefined;
      const gone = namedIn(own['headers'] as Json)
        .map(([name]) => name)
        .filter((name) => !(name in ((response?.['headers'] ?? {}) as Json)));
      const schemaOf = (document: Json, header: Json | undefined) =>
        JSON.stringify(header && resolved(document, header)['schema']);
      const changed = namedIn(own['headers'] as Json).filter(
        ([name, header]) => schemaOf(original, header) !== schemaOf(mutated, response?.['headers']?.[name] as Json),
      );
      const isOf = (header: string) => (name: string) => name.toLowerCase() === header;
      const kept = Object.entries(answer.headers)
        .filter(([header]) => !gone.some(isOf(header)))
        .map(([header, value]) => [header, changed.some(([name]) => isOf(header)(name)) ? 'fresh' : value]);
      const types = Object.keys((response?.['content'] ?? {}) as Json);
      const type = types.length === 0 || types.includes('application/json') ? 'application/json' : (types[0] as string);
      const hasBody = status !== 204 && (!response || response['content'] !== undefined);
      return {
        status,
        headers: { ...Object.fromEntries(kept), 'content-type': type },
        body: hasBody ? body : undefined,
      };
    };

    const answers = async (exchanges: readonly Exchange[]): Promise<Exchange[][]> => {
      const base = await Promise.all(
        exchanges.map(async (one): Promise<Exchange> => {
          const refusedBy = refused(one);
          return { ...one, answer: refusedBy ?? moved(one.id, await usualAnswer(one)) };
        }),
      );
      const startOf = ({ id, answer }: Exchange): Path => [
        ...itemOf(id),
        'post',
        'responses',
        String(answer.status),
        ...SCHEMA,
      ];
      const touched = base.map((one) => nodeAt(original, startOf(one)) !== undefined && isIn(path, startOf(one)));
      const successes = base.map(
        ({ id, answer }) =>
          answer.status === 200 && '201' in (nodeAt(mutated, [...itemOf(id), 'post', 'responses']) ?? {}),
      );
      if (successes.some(Boolean))
        return [base, base.map((one, n) => (successes[n] ? { ...one, answer: { ...one.answer, status: 201 } } : one))];
      if (!touched.some(Boolean)) return [base];
      const [was, is] = [resolved(original, nodeAt(original, path)), resolved(mutated, nodeAt(mutated, path))];
      const isAllowed = now(path);
      const wasAllowed = usual(path);
      const variants = alterationsFor(was, { ...is, ...nodeAt(mutated, path) }).map(({ act, isForced }) => {
        const change = (value: unknown): unknown => {
          const other = act(value);
          if (other === LEFT_OUT) return other;
          return isAllowed(other) && (isForced || !wasAllowed(other)) ? other : value;
        };
        return base.map((one, n) =>
          touched[n]
            ? {
                ...one,
                answer: { ...one.answer, body: altered(original, startOf(one), one.answer.body, node, change) },
              }
            : one,
        );
      });
      return [base, ...variants];
    };
    return { answers };
  };
};
