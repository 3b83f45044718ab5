import { type Call, ONE_OF_MANY, type Value, writerOf } from './call.ts';
import { layOutLines, type Part } from './layout.ts';
import { KEY_VARIABLE, SAMPLE_URL, sdks } from './names.ts';

const STYLE = { width: 80, indent: '  ' };

const inQuotes = (text: string, quote: string): string => {
  const escaped = JSON.stringify(text)
    .slice(1, -1)
    .replaceAll(String.raw`\"`, '"');
  return quote + escaped.replaceAll(quote, `\\${quote}`) + quote;
};

/** In single quotes, unless double ones need fewer escapes. */
const text = (value: string): string => {
  const [single, double] = [inQuotes(value, "'"), inQuotes(value, '"')];
  return double.length < single.length ? double : single;
};

const property = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : text(name));

const literal = writerOf({
  null: () => 'null',
  text: ({ value }) => text(value),
  choice: ({ value }) => text(value),
  number: ({ value }) => String(value),
  boolean: ({ value }) => String(value),
  list: ({ items }) => ({ open: '[', entries: items.map(literal), close: ']' }),
  map: ({ entries }) => object(entries),
  record: ({ members }) => object(members.map(({ name, value }) => [name, value])),
});

const object = (entries: [string, Value][]): Part => ({
  open: '{',
  padding: ' ',
  entries: entries.map(([name, value]) => [`${property(name)}: `, literal(value)]),
  close: '}',
});

/** The call by the SDK for TypeScript: a whole program. */
export const typescriptSample = ({ router, name, needsKey, input, result, isList, isStream, shown }: Call): string => {
  const options = [`baseUrl: '${SAMPLE_URL}'`, ...(needsKey ? [`apiKey: process.env.${KEY_VARIABLE}`] : [])];
  return layOutLines(
    [
      `import { ContentGateway } from '${sdks.typescript.package}';`,
      '',
      ['const gateway = new ContentGateway(', { open: '{', padding: ' ', entries: options, close: '}' }, ');'],
      '',
      [`const ${result} = ${isStream ? '' : 'await '}gateway.${router}.${name}(`, input ? literal(input) : '', ');'],
      ...(isStream
        ? [
            `for await (const ${router} of ${result}) {`,
            `  console.log(${router}.${shown});`,
            `  break; // ${ONE_OF_MANY}`,
            '}',
          ]
        : isList
          ? [`for (const item of ${result}.items) console.log(item.${shown});`]
          : [`console.log(${result}.${shown});`]),
    ],
    STYLE,
  );
};
