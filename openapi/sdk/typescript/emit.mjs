// node emit.mjs <prepared> <folder>: writes the types and methods of the SDK, from what prepare.mjs wrote.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile } from 'json-schema-to-typescript';

const [prepared, folder] = process.argv.slice(2);
const read = (name) => JSON.parse(readFileSync(join(prepared, name), 'utf8'));

const { schemas } = read('schemas.json').components;
const operations = read('operations.json');
const parts = read('parts.json');

const nameOf = ({ $ref }) => $ref.split('/').pop();

/** The schemas that a part of the document reaches. */
const reachedBy = (part, found = new Set()) => {
  for (const [, name] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (found.has(name)) continue;
    found.add(name);
    reachedBy(schemas[name], found);
  }
  return found;
};

const schemaAt = (name) => ({ $ref: `#/components/schemas/${name}` });
const sent = reachedBy(operations.filter(({ input }) => input).map(({ input }) => schemaAt(input)));

/** A reference by name. What the service sends may have values that are new to an enumeration. */
const referenceIn = (schemaName) => (reference) => {
  const name = nameOf(reference);
  const { description, enum: values } = schemas[name];
  return {
    description: reference.description ?? description,
    tsType: values && !sent.has(schemaName) ? `(${name} | (string & {}))` : name,
  };
};

/** The same with the tag of what is deprecated, if the schema it was made of says so. */
const withTag = ({ deprecated, 'x-deprecated-reason': reason }, schema) =>
  deprecated === true
    ? { ...schema, deprecated: false, description: `${schema.description}\n\n@deprecated ${reason}` }
    : schema;

/** A schema as json-schema-to-typescript reads it: it would give a reference with a description of its own another name. */
const withNames = (schemaName) =>
  JSON.parse(JSON.stringify(schemas[schemaName]), (_, value) => {
    if (typeof value?.$ref === 'string') return withTag(value, referenceIn(schemaName)(value));
    if (typeof value !== 'object' || value === null) return value;
    return withTag(value, value.type === 'object' ? { additionalProperties: false, ...value } : value);
  });

/** Callers may pass `undefined` for what they leave out, also under `exactOptionalPropertyTypes`. */
const withUndefined = (type) => type.replaceAll(/^( +\w+\?: [^;\n]+);$/gm, '$1 | undefined;');

const typeOf = async (name) => {
  const type = await compile(withNames(name), name, {
    bannerComment: '',
    style: { singleQuote: true, printWidth: 120 },
  });
  return sent.has(name) ? withUndefined(type) : type;
};

const comment = (indent, ...paragraphs) => {
  const lines = paragraphs.flatMap((text, index) => (index === 0 ? [text] : ['', text]));
  return [`${indent}/**`, ...lines.map((line) => `${indent} *${line && ` ${line}`}`), `${indent} */`].join('\n');
};

const capital = (text) => text[0].toUpperCase() + text.slice(1);

const accessOf = ({ access }) =>
  access === 'public' ? 'Works without a key.' : `Needs a key with the scope \`${access}\`.`;

/** The last paragraphs of the comment of a method. */
const notesOf = (operation) => [
  accessOf(operation),
  ...(operation.deprecated === undefined ? [] : [`@deprecated ${operation.deprecated}`]),
];

/** The parameters of a method for the input, and what it passes on. */
const inputParameterOf = ({ input, bare, writes, limited, item }) => {
  if (!input) return { parameter: [], passed: '{}' };
  const none = (schemas[input].required ?? []).length === 0 && !writes ? ' = {}' : '';
  // The service wants to be told a limit, also of what has no pages.
  const withLimit = (passed) => (limited && !item ? `{ limit: 20, ...${passed} }` : passed);
  if (bare === undefined) return { parameter: [`input: ${input}${none}`], passed: withLimit('input') };
  return { parameter: [`input: ${input} | ${input}['${bare}']`], passed: withLimit(`inputOf('${bare}', input)`) };
};

const STOP =
  'Leave the loop, or abort the signal, to stop. Store the `cursor` of what it returns, and give it as `after` to go on after a restart; some may then come again, so skip those that you know by their id.';

/** The stream beside a feed. */
const tailOf = ({ router, path }) =>
  JSON.stringify({
    id: `${router}.tail`,
    path: path.replace(/[^.]+$/, 'tail'),
    writes: false,
    paged: false,
    members: [],
  });

/** The methods of an operation. */
const methodsOf = (operation) => {
  const { id, name, summary, description, input, output, item, followed, writes } = operation;
  const { parameter, passed } = inputParameterOf(operation);
  const parameters = [...parameter, `options?: ${writes ? 'WriteOptions' : 'CallOptions'}`].join(', ');
  const given = (value) => `this.#call, operations['${id}'], ${value}, options`;
  const once = `${comment('  ', summary, description, ...notesOf(operation))}
  ${name}(${parameters}): GatewayPromise<${item ? `Page<${output}>` : output}> {
    return ${item ? 'fetchPage' : 'callOnce'}(${given(passed)});
  }
`;
  if (followed) {
    return `${once}
${comment(
  '  ',
  `${summary}: as they come`,
  `Iterates without an end, from the latest on unless \`after\` or \`start\` says otherwise: by the stream of \`tail\`, and where there is none by asking for pages, every second unless \`pollMs\` says otherwise. ${STOP}`,
  ...notesOf(operation),
)}
  follow(input: ${input} = {}, options?: FollowOptions): Feed<${followed}> {
    return follow(this.#call, { list: operations['${id}'], tail: ${tailOf(operation)} }, input, options);
  }

${comment(
  '  ',
  `${summary}: as they happen`,
  `Iterates without an end over a stream that the service keeps open, from the latest on unless \`after\` or \`start\` says otherwise. It is opened anew when it breaks; nothing is missed. ${STOP}`,
  ...notesOf(operation),
)}
  tail(input: Omit<${input}, 'limit'> = {}, options?: TailOptions): Feed<${followed}> {
    return tail(this.#call, ${tailOf(operation)}, input, options);
  }
`;
  }
  if (!item) return once;
  return `${once}
${comment('  ', `${summary}: page by page`, `Iterates over all pages, from the first, of 100 records unless \`limit\` says otherwise. A page is fetched when it is asked for.`, ...notesOf(operation))}
  ${name}Pages(input: ${input} = {}, options?: CallOptions): AsyncIterable<Page<${output}>> {
    return iteratePages(${given('input')});
  }

${comment('  ', `${summary}: all of them`, `Iterates over all records, or as many as \`maxRecords\` allows; \`limit\` is the size of the pages, 100 unless you say otherwise. A page is fetched when its first record is asked for.`, ...notesOf(operation))}
  ${name}All(input: ${input} = {}, options?: ListAllOptions): AsyncIterable<${item}> {
    return iterate(${given('input')});
  }
`;
};

const routers = [...new Set(operations.map(({ router }) => router))];

const classOf = (router) => `/** The procedures of \`${router}\`. */
export class ${capital(router)}Procedures {
  readonly #call: Call;

  /** Made by the client. */
  constructor(call: Call) {
    this.#call = call;
  }

${operations
  .filter((operation) => operation.router === router)
  .map(methodsOf)
  .join('\n')}}
`;

const entryOf = ({ id, path, writes, item, outputMembers }) =>
  `  '${id}': ${JSON.stringify({ id, path, writes, paged: item !== undefined, members: outputMembers })},`;

const imported = new Set(
  operations.flatMap(({ input, output, item, followed }) => [input, output, item, followed].filter(Boolean)),
);
const hasFeed = operations.some(({ followed }) => followed);

const procedures = `import type { Call } from '../call.js';
${hasFeed ? "import { follow, tail } from '../feed.js';\nimport type { Feed, FollowOptions, TailOptions } from '../feed.js';\n" : ''}import type { CallOptions, ListAllOptions, WriteOptions } from '../options.js';
import { fetchPage, iterate, iteratePages } from '../page.js';
import type { Page } from '../page.js';
import { callOnce, inputOf } from '../promise.js';
import type { GatewayPromise } from '../promise.js';
import { operations } from './operations.js';
import type {
${Array.from(imported, (name) => `  ${name},`).join('\n')}
} from './types.js';

${routers.map(classOf).join('\n')}
/** All procedures, by router. */
export class Procedures {
${routers.map((router) => `  /** The procedures of \`${router}\`. */\n  readonly ${router}: ${capital(router)}Procedures;`).join('\n')}

  /** Made by the client. */
  constructor(call: Call) {
${routers.map((router) => `    this.${router} = new ${capital(router)}Procedures(call);`).join('\n')}
  }
}
`;

const facts = `import type { Operation } from '../call.js';

/** The operations that this SDK knows, by id. */
export const operations = {
${operations.map(entryOf).join('\n')}
} as const satisfies Record<string, Operation>;
`;

const recorded = `/** What an operation may send, where the least and greatest are recorded, and the places in its output whose members have names of the caller's own. */
export interface Parts {
  readonly sends: readonly string[];
  readonly measured: readonly string[];
  readonly maps: readonly string[];
}

/** For what records a consumer contract, by the operations' ids. */
export const parts: Record<string, Parts> = {
${Object.entries(parts)
  .map(([id, known]) => `  '${id}': ${JSON.stringify(known)},`)
  .join('\n')}
};
`;

const types = await Promise.all(Object.keys(schemas).map(typeOf));
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'types.ts'), types.join('\n'));
writeFileSync(join(folder, 'operations.ts'), facts);
writeFileSync(join(folder, 'parts.ts'), recorded);
writeFileSync(join(folder, 'procedures.ts'), procedures);
