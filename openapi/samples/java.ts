import { type Call, ONE_OF_MANY, type Value, valuesIn, writerOf } from './call.ts';
import { layOut, layOutLines, type List, type Part } from './layout.ts';
import { KEY_VARIABLE, pascalCase, SAMPLE_URL, sdks, snakeCase } from './names.ts';

const STYLE = { width: 88, indent: '  ' };

/** Calls one after the other, each on a line of its own where they are many. */
const chain = (head: string, calls: readonly Part[]): List => ({
  open: head,
  entries: calls,
  close: '',
  separator: '',
  steps: 2,
  clings: true,
});

const text = (value: string): string => JSON.stringify(value);

const listOf = (items: readonly Part[]): Part => {
  // One alone follows the bracket.
  if (items.length === 1) return ['List.of(', ...items, ')'];
  return { open: 'List.of(', entries: items, close: ')', end: '', steps: 2, clings: true };
};

const literal = writerOf({
  null: () => 'null',
  text: ({ value }) => text(value),
  choice: ({ type, value }) => `${type}.${snakeCase(value).toUpperCase()}`,
  number: ({ value }) => String(value),
  boolean: ({ value }) => String(value),
  list: ({ items }) => listOf(items.map(literal)),
  map: ({ entries }) => ({
    open: 'Map.of(',
    entries: entries.map(([name, value]) => [`${text(name)}, `, literal(value)]),
    close: ')',
    end: '',
    steps: 2,
    clings: true,
  }),
  record: ({ type, members }) =>
    chain(
      `new ${type}()`,
      members.map(({ name, value }) => [`.${name}(`, literal(value), ')']),
    ),
});

/** The class that a value is an instance of, with its package, where it isn't known to all. */
const classOf = (value: Value): string | undefined => {
  if (value.kind === 'list') return 'java.util.List';
  if (value.kind === 'map') return 'java.util.Map';
  return 'type' in value ? `${sdks.java.package}.model.${value.type}` : undefined;
};

/** The call by the SDK for Java: a whole program, in one file of the name of its class. */
export const javaSample = ({ router, name, needsKey, input, result, isList, isStream, shown }: Call): string => {
  const classes = [
    `${sdks.java.package}.ContentGateway`,
    ...(input ? valuesIn(input).flatMap((value) => classOf(value) ?? []) : []),
  ];
  const settings = [
    `.baseUrl("${SAMPLE_URL}")`,
    ...(needsKey ? [`.apiKey(System.getenv("${KEY_VARIABLE}"))`] : []),
    '.build()',
  ];
  const getter = `get${pascalCase(shown)}()`;
  const margin = '    ';
  return layOutLines(
    [
      ...[...new Set(classes)].toSorted().map((path) => `import ${path};`),
      '',
      `class ${pascalCase(router)}${pascalCase(name)} {`,
      '  public static void main(String[] args) {',
      layOut([chain('var gateway = ContentGateway.builder()', settings), ';'], STYLE, margin),
      '',
      layOut(
        [
          `${isStream ? 'try (' : ''}var ${result} = gateway.${router}().${name}(`,
          input ? literal(input) : '',
          isStream ? ')) {' : ');',
        ],
        STYLE,
        margin,
      ),
      ...(isStream
        ? [
            `${margin}  for (var ${router} : ${result}) {`,
            `${margin}    System.out.println(${router}.${getter});`,
            `${margin}    break; // ${ONE_OF_MANY}`,
            `${margin}  }`,
            `${margin}}`,
          ]
        : isList
          ? [
              `${margin}for (var item : ${result}.getItems()) {`,
              `${margin}  System.out.println(item.${getter});`,
              `${margin}}`,
            ]
          : [`${margin}System.out.println(${result}.${getter});`]),
      '  }',
      '}',
    ],
    STYLE,
  );
};
