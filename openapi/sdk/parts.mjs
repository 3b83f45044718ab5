// What the recorders of consumer contracts know of inputs and outputs, from the published document.

const nameOf = ({ $ref }) => $ref.split('/').pop();

/** A JSON pointer (RFC 6901). */
const pointerOf = (path) => path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** All schemas within one, itself first, with the members that lead to each: `*` for elements of arrays and of maps. */
function* schemasIn(schemas, schema, path = []) {
  yield { schema, path };
  const { $ref, properties = {}, items, additionalProperties, anyOf = [], oneOf = [], allOf = [] } = schema;
  if ($ref) yield* schemasIn(schemas, schemas[nameOf(schema)], path);
  for (const [name, member] of Object.entries(properties)) yield* schemasIn(schemas, member, [...path, name]);
  for (const each of [items, additionalProperties]) {
    if (typeof each === 'object') yield* schemasIn(schemas, each, [...path, '*']);
  }
  for (const inner of [...anyOf, ...oneOf, ...allOf]) yield* schemasIn(schemas, inner, path);
}

const wordsOf = ({ enum: values = [], const: value }) => [...values, value].filter((word) => typeof word === 'string');

/** The members of an input and the words of its enumerations, each once: `/sortBy`, `/sortBy=latest`. */
const sendsOf = (schemas, input) => {
  const names = new Set();
  for (const { schema, path } of schemasIn(schemas, input)) {
    const pointer = pointerOf(path);
    if (path.length > 0 && path.at(-1) !== '*') names.add(pointer);
    for (const word of wordsOf(schema)) names.add(`${pointer}=${word}`);
  }
  return [...names];
};

/** As the service's `measuredIn` has it. */
const SENTENCE = 'A plain text, for once!';
const LOOKED_UP = /^(?:id|cursor|before|after)$|(?:Id|Slugs)$/;

const isMeasured = ({ type, enum: values, const: value, format, pattern = '' }, path) => {
  const types = [type].flat();
  if (['integer', 'number', 'array'].some((one) => types.includes(one))) return true;
  if (!types.includes('string') || values || value !== undefined || format) return false;
  const isLookedUp = LOOKED_UP.test(path.findLast((name) => name !== '*') ?? '');
  return !isLookedUp && new RegExp(pattern, 'u').test(SENTENCE);
};

/** The places of an input with numbers, arrays and free texts, of which the least and greatest are recorded. */
const measuredIn = (schemas, input) => {
  const measured = [...schemasIn(schemas, input)].filter(({ schema, path }) => isMeasured(schema, path));
  return [...new Set(measured.map(({ path }) => pointerOf(path)))];
};

/** The places in an output whose members have names of the caller's own. */
const mapsOf = (schemas, output) => {
  const maps = [...schemasIn(schemas, output)].filter(({ schema }) => typeof schema.additionalProperties === 'object');
  return [...new Set(maps.map(({ path }) => pointerOf(path)))];
};

const memberOf = (schemas, schema, name) =>
  (schema.$ref ? schemas[nameOf(schema)] : schema).properties?.[name] ?? { properties: {} };

/**
 * For each operation, streams too, by id: `sends`, all that its input may have, `measured`, the places in it of which the least and greatest
 * are recorded, and `maps`, the places in its output, or in an event of its stream, whose members have names of the caller's own.
 */
export const partsOf = ({ paths, components: { schemas } }) =>
  Object.fromEntries(
    Object.values(paths)
      .filter(({ post }) => post !== undefined)
      .map(({ post }) => {
        const { operationId, requestBody, responses, 'x-streaming': stream } = post;
        const reply = responses[200].content['application/json']?.schema;
        const output =
          stream?.message ?? ['result', 'data'].reduce((found, name) => memberOf(schemas, found, name), reply);
        const input = memberOf(schemas, requestBody.content['application/json'].schema, 'json');
        return [
          operationId,
          {
            sends: sendsOf(schemas, input),
            measured: measuredIn(schemas, input),
            maps: mapsOf(schemas, memberOf(schemas, output, 'json')),
          },
        ];
      }),
  );
