import { type Call, ONE_OF_MANY, valuesIn, writerOf } from './call.ts';
import { layOutLines } from './layout.ts';
import { KEY_VARIABLE, SAMPLE_URL, sdks, snakeCase } from './names.ts';

const STYLE = { width: 88, indent: '    ' };

/** Names that a parameter must not shadow. */
const TAKEN = ['type'];

const text = (value: string): string => {
  const double = JSON.stringify(value);
  const single = `'${double
    .slice(1, -1)
    .replaceAll(String.raw`\"`, '"')
    .replaceAll("'", String.raw`\'`)}'`;
  return single.length < double.length ? single : double;
};

const parameter = (name: string): string => (TAKEN.includes(name) ? `${name}_` : snakeCase(name));

const literal = writerOf({
  null: () => 'None',
  text: ({ value }) => text(value),
  choice: ({ value }) => text(value),
  number: ({ value }) => String(value),
  boolean: ({ value }) => (value ? 'True' : 'False'),
  list: ({ items }) => ({ open: '[', entries: items.map(literal), close: ']' }),
  map: ({ entries }) => ({
    open: '{',
    entries: entries.map(([name, value]) => [`${text(name)}: `, literal(value)]),
    close: '}',
  }),
  record: ({ type, members }) => ({
    open: `${type}(`,
    entries: members.map(({ name, value }) => [`${snakeCase(name)}=`, literal(value)]),
    close: ')',
  }),
});

/** The call by the SDK for Python: a whole program. */
export const pythonSample = ({ router, name, needsKey, input, result, isList, isStream, shown }: Call): string => {
  const members = input?.members ?? [];
  const inner = members.flatMap(({ value }) => valuesIn(value));
  const classes = [...new Set(inner.flatMap((value) => (value.kind === 'record' ? value.type : [])))].toSorted();
  const options = [`"${SAMPLE_URL}"`, ...(needsKey ? [`api_key=os.environ["${KEY_VARIABLE}"]`] : [])];
  const member = snakeCase(shown);
  return layOutLines(
    [
      ...(needsKey ? ['import os', ''] : []),
      `from ${sdks.python.package} import ContentGateway`,
      ...(classes.length > 0 ? [`from ${sdks.python.package}.models import ${classes.join(', ')}`] : []),
      '',
      { open: 'gateway = ContentGateway(', entries: options, close: ')' },
      '',
      {
        open: `${result} = gateway.${snakeCase(router)}.${snakeCase(name)}(`,
        entries: members.map(({ name: own, value }) => [`${parameter(own)}=`, literal(value)]),
        close: ')',
      },
      ...(isStream
        ? [
            `for ${router} in ${result}:`,
            `    print(${router}.${member})`,
            `    break  # ${ONE_OF_MANY}`,
            `${result}.close()`,
          ]
        : isList
          ? [`for item in ${result}.items:\n    print(item.${member})`]
          : [`print(${result}.${member})`]),
    ],
    STYLE,
  );
};
