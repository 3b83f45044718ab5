// node methods.mjs <build>: writes what the SDK in <build>/java has of its own for each operation, as Java, from operations.json:
// the operations, a class for each router in four forms, and the pages of lists. And tidies what the generator wrote.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSettings } from '../settings.mjs';
import { javadoc } from './javadoc.mjs';

const [build] = process.argv.slice(2);
const { java } = readSettings();
const folder = join(build, 'java/src/main/java', ...java.package.split('.'));
const read = (name) => JSON.parse(readFileSync(join(build, name), 'utf8'));
const operations = read('operations.json');
const { tags, components } = read('openapi.json');

const HEAD = '// Made from the contract. Don’t edit.';
const pascal = (name) => name[0].toUpperCase() + name.slice(1);
const constantOf = ({ id }) => id.replace('.', '_').replace(/[A-Z]/g, '_$&').toUpperCase();
const pageOf = ({ id }) => `${id.split('.').map(pascal).join('')}Page`;
const resultOf = (operation) => (operation.item ? pageOf(operation) : operation.output);
const textOf = (text) => JSON.stringify(text);
const byName = (left, right) => (left < right ? -1 : 1);

const comment = (lines, indent = '  ') =>
  [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`].join('\n');

const write = (name, body, imports = []) => {
  const used = imports.filter((path) => new RegExp(`\\b${path.split('.').pop()}\\b`).test(body)).toSorted(byName);
  const lines = used.map((path) => `import ${path};\n`).join('');
  writeFileSync(join(folder, `${name}.java`), `${HEAD}\npackage ${java.package};\n\n${lines}${lines && '\n'}${body}`);
};

const models = Object.keys(components.schemas).map((name) => `${java.package}.model.${name}`);
const FUTURE = 'java.util.concurrent.CompletableFuture';

/** Whether a walk over all records needs no input of the caller. */
const walksAlone = ({ input }) =>
  (components.schemas[input].required ?? []).every((member) => ['page', 'limit'].includes(member));

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
const docOf = (operation, parameters, { returns, fails }) =>
  comment([
    `${javadoc(operation.summary)}`,
    '',
    `<p>${javadoc(operation.description)} ${accessOf(operation)}`,
    '',
    ...parameters.map(
      (name) =>
        ({ input: '@param input the parameters', options: '@param options what this call does otherwise, or null' })[
          name
        ],
    ),
    `@return ${returns}`,
    ...(fails ? [fails] : []),
  ]);

const methodOf = (operation, form, withOptions) => {
  const parameters = [...(operation.input ? ['input'] : []), ...(withOptions ? ['options'] : [])];
  const types = { input: operation.input, options: 'CallOptions' };
  const args = `Operations.${constantOf(operation)}, ${operation.input ? 'input' : 'null'}, ${withOptions ? 'options' : 'null'}`;
  const bind = operation.item && `${pageOf(operation)}::boundTo`;
  return `${docOf(operation, parameters, form)}
  public ${form.type(resultOf(operation))} ${operation.name}(${parameters.map((name) => `${types[name]} ${name}`).join(', ')}) {
    return ${form.call(operation, args, bind)};
  }`;
};

const walks = {
  sync: {
    type: 'Records',
    returns: 'the records, whose pages are fetched as they are needed',
    first: (operation, call) => `Futures.await("${operation.id}", () -> ${call})`,
  },
  async: {
    type: 'AsyncRecords',
    returns: 'the records, whose pages are fetched as they are requested',
    first: (operation, call) => call,
  },
};

const walkOf = (operation, { type, returns, first }, withOptions) => {
  const parameters = ['input', ...(withOptions ? ['options'] : [])];
  const args = `Operations.${constantOf(operation)}, input, ${withOptions ? 'options' : 'null'}, ${pageOf(operation)}::boundTo`;
  const own = `${operation.name}All`;
  const declared = `${operation.input} input${withOptions ? ', CallOptions options' : ''}`;
  const doc = (names) =>
    docOf({ ...operation, summary: `${operation.summary}: all, page after page` }, names, { returns });
  const method = `${doc(parameters)}
  public ${type}<${operation.item}> ${own}(${declared}) {
    return new ${type}<>(() -> ${first(operation, `transport.asyncFirstPage(${args})`)});
  }`;
  if (withOptions || !walksAlone(operation)) return method;
  return `${doc([])}
  public ${type}<${operation.item}> ${own}() {
    return ${own}(new ${operation.input}());
  }

${method}`;
};

const methodsOf = (all, form, walk) =>
  all
    .flatMap((operation) =>
      [false, true].flatMap((withOptions) => [
        methodOf(operation, form, withOptions),
        ...(operation.item && walk ? [walkOf(operation, walk, withOptions)] : []),
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
abstract class ${name} {
${routers.map(({ field, type }) => `  private final ${type} ${field};`).join('\n')}

  ${name}(Transport transport) {
${routers.map(({ field, type }) => `    ${field} = new ${type}(transport);`).join('\n')}
  }

${routers.map(accessorOf).join('\n\n')}
}
`;
};

const pageClassOf = (operation) => {
  const name = pageOf(operation);
  return `/** A page of {@code ${operation.id}}. */
public final class ${name} extends ${operation.output} implements Page<${operation.item}> {
  private Supplier<CompletableFuture<${name}>> next;

  private ${name}() {}

  ${name} boundTo(Supplier<CompletableFuture<${name}>> next) {
    this.next = next;
    return this;
  }

  @Override
  public ${name} nextPage() {
    return Futures.await("${operation.id}", this::nextPageAsync);
  }

  @Override
  public CompletableFuture<${name}> nextPageAsync() {
    if (!hasNextPage()) throw new NoSuchElementException("This is the last page.");
    return next.get();
  }
}
`;
};

const operationsClass = `/** The operations of the contract. */
final class Operations {
${operations
  .map((operation) => {
    const members = operation.outputMembers.map(textOf).join(', ');
    const type = resultOf(operation);
    return `  static final Operation<${type}> ${constantOf(operation)} =
      new Operation<>("${operation.id}", "${operation.path}", ${operation.writes}, ${type}.class, List.of(${members}));`;
  })
  .join('\n\n')}

  private Operations() {}
}
`;

/** Leaves only the imports that a model uses. */
const tidyModels = () => {
  const home = join(folder, 'model');
  for (const name of readdirSync(home)) {
    const text = readFileSync(join(home, name), 'utf8');
    const code = text.replace(/^import .+;\n/gm, '');
    const isUsed = (path) =>
      !path.startsWith(`${java.package}.model.`) && new RegExp(`\\b${path.split('.').pop()}\\b`).test(code);
    const imports = [...new Set([...text.matchAll(/^import (.+);$/gm)].map(([, path]) => path))]
      .filter(isUsed)
      .toSorted(byName);
    const lines = imports.map((path) => `import ${path};\n`).join('');
    const tidy = code.replace(/^(package .+;)\n+/m, `$1\n\n${lines}${lines && '\n'}`);
    writeFileSync(join(home, name), `${tidy.trimEnd()}\n`);
  }
};

mkdirSync(folder, { recursive: true });
tidyModels();
write('Operations', operationsClass, ['java.util.List', ...models]);
write('Routers', routersOf('Routers', ''));
write('AsyncRouters', routersOf('AsyncRouters', 'Async'));
for (const { name, description } of tags) {
  const routed = pascal(name);
  write(
    `${routed}Operations`,
    classOf(`${routed}Operations`, name, javadoc(description), forms.sync, forms.syncResponse, walks.sync),
    models,
  );
  const asynchronous = `Async${routed}Operations`;
  write(
    asynchronous,
    classOf(asynchronous, name, javadoc(description), forms.async, forms.asyncResponse, walks.async),
    [...models, FUTURE],
  );
}
for (const operation of operations.filter(({ item }) => item)) {
  write(pageOf(operation), pageClassOf(operation), [
    ...models,
    FUTURE,
    'java.util.NoSuchElementException',
    'java.util.function.Supplier',
  ]);
}
