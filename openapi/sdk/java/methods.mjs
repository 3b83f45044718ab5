// node methods.mjs <build>: writes what the SDK in <build>/java has of its own for each operation, as Java, from operations.json:
// the operations, a class for each router in four forms, and the pages of lists. And tidies what the generator wrote.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { javadoc } from './javadoc.mjs';
import { writeRouters } from './routers.mjs';
import {
  byName,
  components,
  constantOf,
  folder,
  FUTURE,
  java,
  LIST,
  models,
  operations,
  pageOf,
  resultOf,
  write,
} from './source.mjs';

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
    if (next == null) throw new UsageException("This page came from no list: list with its cursor.");
    return next.get();
  }
}
`;
};

const operationsClass = `/** The operations of the contract. */
final class Operations {
${operations
  .map((operation) => {
    const members = operation.outputMembers.map((member) => JSON.stringify(member)).join(', ');
    const type = resultOf(operation);
    return `  static final Operation<${type}> ${constantOf(operation)} =
      new Operation<>("${operation.id}", "${operation.path}", ${operation.writes}, ${type}.class, List.of(${members}));`;
  })
  .join('\n\n')}

  /** All of them, by their ids. */
  static final Map<String, Operation<?>> BY_ID =
      Stream.of(${operations.map(constantOf).join(', ')})
          .collect(Collectors.toUnmodifiableMap(Operation::id, Function.identity()));

  private Operations() {}
}
`;

/** The model of a schema with its deprecated values marked: the generator knows only of whole enumerations. */
const withDeprecatedValues = (name, text) =>
  Object.entries(components.schemas[name]?.['x-deprecated-values'] ?? {}).reduce((marked, [value, reason]) => {
    const comment = `  /** {@code "${value}"}. */\n`;
    const lines = [`{@code "${value}"}.`, '', `@deprecated ${javadoc(reason)}`].map((line) => `   * ${line}`.trimEnd());
    return marked.replace(comment, ['  /**', ...lines, '   */', '  @Deprecated', ''].join('\n'));
  }, text);

/** Leaves only the imports that a model uses, and marks what the generator does not. */
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
    writeFileSync(join(home, name), withDeprecatedValues(name.replace('.java', ''), `${tidy.trimEnd()}\n`));
  }
};

mkdirSync(folder, { recursive: true });
tidyModels();
write('Operations', operationsClass, [
  LIST,
  'java.util.Map',
  'java.util.function.Function',
  'java.util.stream.Collectors',
  'java.util.stream.Stream',
  ...models,
]);
writeRouters();
for (const operation of operations.filter(({ item }) => item)) {
  write(pageOf(operation), pageClassOf(operation), [
    ...models,
    FUTURE,
    'java.util.NoSuchElementException',
    'java.util.function.Supplier',
  ]);
}
