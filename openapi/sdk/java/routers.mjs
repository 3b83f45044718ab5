// The classes of the routers, in four forms: calls that wait or not, and return the output or the whole reply.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { javadoc } from './javadoc.mjs';
import {
  comment,
  components,
  constantOf,
  folder,
  FUTURE,
  LIST,
  models,
  operations,
  pageOf,
  pascal,
  resultOf,
  tags,
  write,
} from './source.mjs';

/** The only member that an input must have, as the generator wrote its setter: `{name, type, doc}`. Undefined for other inputs. */
const bareMemberOf = ({ input, bare }) => {
  if (bare === undefined) return undefined;
  const { properties } = components.schemas[input];
  const model = readFileSync(join(folder, 'model', `${input}.java`), 'utf8');
  const [, name, type] = new RegExp(`^  public ${input} (${bare})\\((.+) \\1\\) \\{$`, 'm').exec(model);
  return { name, type, doc: properties[bare].description };
};

/** What a method gives on of its input: with the size of a list, if the service needs one. Pages have it by themselves. */
const argumentOf = ({ input, limited, item }) => {
  if (!input) return 'null';
  return limited && !item ? 'Transport.withLimit(input)' : 'input';
};

/** Whether a walk over all records needs no input of the caller. */
const walksAlone = ({ input }) => (components.schemas[input].required ?? []).length === 0;

const forms = {
  sync: {
    type: (result) => result,
    returns: 'the output',
    fails: '@throws GatewayException if the call fails',
    call: (operation, args, bind) =>
      bind
        ? `Futures.await("${operation.id}", () -> transport.asyncPage(${args}, ${bind})).data()`
        : `Futures.await("${operation.id}", () -> transport.async(${args})).data()`,
  },
  syncResponse: {
    type: (result) => `ApiResponse<${result}>`,
    returns: 'the output, and what came along with it',
    fails: '@throws GatewayException if the call fails',
    call: (operation, args, bind) =>
      bind
        ? `Futures.await("${operation.id}", () -> transport.asyncPage(${args}, ${bind}))`
        : `Futures.await("${operation.id}", () -> transport.async(${args}))`,
  },
  async: {
    type: (result) => `CompletableFuture<${result}>`,
    returns: 'what becomes the output, or fails with a {@link GatewayException}',
    call: (operation, args, bind) =>
      `Futures.map(transport.${bind ? `asyncPage(${args}, ${bind})` : `async(${args})`}, ApiResponse::data)`,
  },
  asyncResponse: {
    type: (result) => `CompletableFuture<ApiResponse<${result}>>`,
    returns: 'what becomes the output and what came along with it, or fails with a {@link GatewayException}',
    call: (operation, args, bind) => `transport.${bind ? `asyncPage(${args}, ${bind})` : `async(${args})`}`,
  },
};

const accessOf = ({ access }) =>
  access === 'public' ? 'It can be called without a key.' : `It needs a key with the scope {@code ${access}}.`;

/** The doc comment of a method with these parameters. */
const docOf = (operation, parameters, { returns, fails, more = [] }) =>
  comment([
    `${javadoc(operation.summary)}`,
    '',
    `<p>${javadoc(operation.description)} ${accessOf(operation)}`,
    ...more.flatMap((text) => ['', `<p>${text}`]),
    '',
    ...parameters.map(({ name, doc }) => `@param ${name} ${doc}`),
    `@return ${returns}`,
    ...(fails ? [fails] : []),
    ...(operation.deprecated === undefined ? [] : [`@deprecated ${javadoc(operation.deprecated)}`]),
  ]) + (operation.deprecated === undefined ? '' : '\n  @Deprecated');

const OPTIONS = { name: 'options', type: 'CallOptions', doc: 'what this call does otherwise, or null' };
const inputOf = ({ input }) => ({ name: 'input', type: input, doc: 'the parameters' });
const declared = (parameters) => parameters.map(({ name, type }) => `${type} ${name}`).join(', ');

/** The same method, which takes the only member alone that its input must have. */
const shortMethodOf = (operation, form, withOptions) => {
  const member = bareMemberOf(operation);
  if (member === undefined) return [];
  const { name, doc, ...rest } = member;
  const parameters = [{ name, doc: javadoc(doc), ...rest }, ...(withOptions ? [OPTIONS] : [])];
  const input = `new ${operation.input}().${name}(${name})`;
  return [
    `${docOf(operation, parameters, form)}
  public ${form.type(resultOf(operation))} ${operation.name}(${declared(parameters)}) {
    return ${operation.name}(${[input, ...(withOptions ? ['options'] : [])].join(', ')});
  }`,
  ];
};

const methodOf = (operation, form, withOptions) => {
  const parameters = [...(operation.input ? [inputOf(operation)] : []), ...(withOptions ? [OPTIONS] : [])];
  const args = `Operations.${constantOf(operation)}, ${argumentOf(operation)}, ${withOptions ? 'options' : 'null'}`;
  const bind = operation.item && `${pageOf(operation)}::boundTo`;
  return `${docOf(operation, parameters, form)}
  public ${form.type(resultOf(operation))} ${operation.name}(${declared(parameters)}) {
    return ${form.call(operation, args, bind)};
  }`;
};

/** How the methods that go through a list, or follow a feed, are made. `first` is an expression that fetches its first page. */
const walks = {
  sync: {
    follower: 'Follower',
    pages: (page) => ({ type: `Pages<${page}>`, returns: 'the pages, which are fetched as they are needed' }),
    records: (item) => ({
      type: `Records<${item}>`,
      returns: 'the records, whose pages are fetched as they are needed',
    }),
    pagesOf: ({ id }, page, first) => `new Pages<>(() -> Futures.await("${id}", () -> ${first}), ${page}::nextPage)`,
    recordsOf: (operation) =>
      `new Records<>(${operation.name}Pages(input, options), CallOptions.maxRecordsOf(options))`,
  },
  async: {
    follower: 'AsyncFollower',
    pages: (page) => ({ type: `AsyncPages<${page}>`, returns: 'the pages, which are fetched as they are requested' }),
    records: (item) => ({
      type: `AsyncRecords<${item}>`,
      returns: 'the records, whose pages are fetched as they are requested',
    }),
    pagesOf: (_, page, first) => `new AsyncPages<>(() -> ${first}, ${page}::nextPageAsync)`,
    recordsOf: (_, first) => `new AsyncRecords<>(() -> ${first}, CallOptions.maxRecordsOf(options))`,
  },
};

const PAGE_SIZE =
  '{@code limit} is the size of the pages that are fetched, 100 if it isn’t set. How many records come at most is {@link CallOptions#maxRecords}.';

/** A method that goes through a list: with an input and options, with an input, and, where that will do, with nothing. */
const walkOf = (operation, { name, summary, type, returns, more }, body, withOptions) => {
  const docs = (parameters) => docOf({ ...operation, summary }, parameters, { returns, more });
  const parameters = [inputOf(operation), ...(withOptions ? [OPTIONS] : [])];
  const method = `${docs(parameters)}
  public ${type} ${name}(${declared(parameters)}) {
    return ${withOptions ? body : `${name}(input, null)`};
  }`;
  if (withOptions || !walksAlone(operation)) return [method];
  const alone = `${docs([])}
  public ${type} ${name}() {
    return ${name}(new ${operation.input}());
  }`;
  return [alone, method];
};

const walksOf = (operation, walk, withOptions) => {
  const page = pageOf(operation);
  const first = `transport.asyncFirstPage(Operations.${constantOf(operation)}, input, options, ${page}::boundTo)`;
  const all = `${operation.summary}: all, page after page`;
  const records = { name: `${operation.name}All`, summary: all, more: [PAGE_SIZE], ...walk.records(operation.item) };
  const pages = { name: `${operation.name}Pages`, summary: `${operation.summary}: all pages`, ...walk.pages(page) };
  return [
    ...walkOf(operation, records, walk.recordsOf(operation, first), withOptions),
    ...walkOf(operation, pages, walk.pagesOf(operation, page, first), withOptions),
  ];
};

const FOLLOWING = [
  'They come by the stream of {@code tail}, as they happen; without a start, from now on. Where there is none, it asks for pages, whose size is {@code limit}, as often as {@link CallOptions#pollInterval} says.',
  'After a restart from its cursor, an event may come again: each comes at least once.',
];

const TAILING = [
  'Without a start, from now on. A stream that breaks, or is silent for longer than {@link CallOptions#silence} says, is opened again where it was; one that cannot be opened is an error. It takes no turn of {@code maxConnections}. {@code limit} counts for nothing.',
  'After a restart from its cursor, an event may come again: each comes at least once.',
];

/** The methods that go through a feed as its events happen. */
const followsOf = (operation, { follower }, withOptions) => {
  const { followed: item, router } = operation;
  if (item === undefined) return [];
  const page = `page -> new FeedPage<>(page.getItems(), page.getNextCursor(), page.getHasMore())`;
  const tail = `new Operation<>("${router}.tail", "/api/trpc/${router}.tail", false, StreamCall.Opened.class, List.of())`;
  const feedBy = (pages) =>
    `new ${follower}<>(new Feed<${item}>(transport, ${tail}, ${item}.class, ${pages}, input, options, ${page}))`;
  const type = `${follower}<${item}>`;
  const follow = {
    name: 'follow',
    summary: `${operation.summary}: all, and then those that come`,
    type,
    returns: 'the events',
    more: FOLLOWING,
  };
  const tailing = {
    name: 'tail',
    summary: `${operation.summary}: as they happen, by a stream`,
    type,
    returns: 'the events',
    more: TAILING,
  };
  return [
    ...walkOf(operation, follow, feedBy(`Operations.${constantOf(operation)}`), withOptions),
    ...walkOf(operation, tailing, feedBy(`(Operation<${operation.output}>) null`), withOptions),
  ];
};

const methodsOf = (all, form, walk) =>
  all
    .flatMap((operation) =>
      [false, true].flatMap((withOptions) => [
        methodOf(operation, form, withOptions),
        ...shortMethodOf(operation, form, withOptions),
        ...(operation.item && walk ? walksOf(operation, walk, withOptions) : []),
        ...(walk ? followsOf(operation, walk, withOptions) : []),
      ]),
    )
    .join('\n\n');

const classOf = (name, router, doc, form, responseForm, walk) => {
  const all = operations.filter((operation) => operation.router === router);
  return `/** ${doc} */
public final class ${name} {
  private final Transport transport;
  private final WithResponse withResponse;

  ${name}(Transport transport) {
    this.transport = transport;
    withResponse = new WithResponse(transport);
  }

${comment(['The same operations, which also return status, headers and more.', '', '@return the operations'])}
  public WithResponse withResponse() {
    return withResponse;
  }

${methodsOf(all, form, walk)}

  /** The same operations, which also return status, headers and more. */
  public static final class WithResponse {
    private final Transport transport;

    WithResponse(Transport transport) {
      this.transport = transport;
    }

${methodsOf(all, responseForm).replace(/^(?=.)/gm, '  ')}
  }
}
`;
};

const accessorOf = ({ field, type, description }) =>
  `${comment([javadoc(description), '', `@return the operations of {@code ${field}}`])}
  public ${type} ${field}() {
    return ${field};
  }`;

const routersOf = (name, prefix) => {
  const routers = tags.map((tag) => ({ field: tag.name, type: `${prefix}${pascal(tag.name)}Operations`, ...tag }));
  return `/** The parts of the API. */
abstract class ${name} extends ${prefix}GenericCalls {
${routers.map(({ field, type }) => `  private final ${type} ${field};`).join('\n')}

  ${name}(Transport transport) {
    super(transport);
${routers.map(({ field, type }) => `    ${field} = new ${type}(transport);`).join('\n')}
  }

${routers.map(accessorOf).join('\n\n')}
}
`;
};

/** Writes the classes of all routers. */
export const writeRouters = () => {
  write('Routers', routersOf('Routers', ''));
  write('AsyncRouters', routersOf('AsyncRouters', 'Async'));
  for (const { name, description } of tags) {
    const routed = `${pascal(name)}Operations`;
    const doc = javadoc(description);
    write(routed, classOf(routed, name, doc, forms.sync, forms.syncResponse, walks.sync), [...models, LIST]);
    const asynchronous = classOf(`Async${routed}`, name, doc, forms.async, forms.asyncResponse, walks.async);
    write(`Async${routed}`, asynchronous, [...models, FUTURE, LIST]);
  }
};
