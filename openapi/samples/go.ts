import { exportedName } from '#openapi/sdk/go/names.mjs';
import { type Call, type Member, ONE_OF_MANY, type RecordValue, type Value, writerOf } from './call.ts';
import { layOut, layOutLines, type List, type Part } from './layout.ts';
import { KEY_VARIABLE, pascalCase, SAMPLE_URL, sdks } from './names.ts';

const STYLE = { width: 88, indent: '\t', aligns: true };

/** A name of the package. */
const ours = (name: string): string => `${sdks.go.package}.${name}`;

const text = (value: string): string => JSON.stringify(value);

const itemType = (of: string | undefined): string => (of === undefined ? 'string' : ours(exportedName(of)));

const fieldsOf = ({ members, isUpdate }: RecordValue, type: string): List => ({
  open: `${type}{`,
  entries: members.map((member) => ({ key: `${exportedName(member.name)}:`, value: field(member, isUpdate) })),
  close: '}',
});

/** The type is left out where the list says it already. */
const listItem = (value: Value): Part => (value.kind === 'record' ? fieldsOf(value, '') : literal(value));

const literal = writerOf({
  null: () => 'nil',
  text: ({ value }) => text(value),
  choice: ({ type, value }) => ours(type + exportedName(pascalCase(value))),
  number: ({ value }) => String(value),
  boolean: ({ value }) => String(value),
  list: ({ items, of }) => ({
    open: `[]${itemType(of)}{`,
    entries: items.map(listItem),
    close: '}',
  }),
  map: ({ type, entries }) => ({
    open: `${ours(exportedName(type))}{`,
    entries: entries.map(([name, value]) => ({ key: `${text(name)}:`, value: literal(value) })),
    close: '}',
  }),
  record: (value) => fieldsOf(value, ours(exportedName(value.type))),
});

/** The change that an update makes to a member that it can clear. */
const change = (value: Value): Part => {
  if (value.kind === 'list') {
    return { open: `${ours('SetListTo')}(`, entries: value.items.map((item) => literal(item)), close: ')' };
  }
  if (value.kind !== 'null') return [`${ours('SetTo')}(`, literal(value), ')'];
  return value.list ? `${ours('ClearList')}[${itemType(value.list.of)}]()` : `${ours('Clear')}()`;
};

/** A member: a pointer, or a change, where the zero value of the type would say something else than nothing. */
const field = ({ value, isRequired, isNullable, meansZero }: Member, isUpdate: boolean): Part => {
  const written = literal(value);
  const pointer = [`${ours('Ptr')}(`, written, ')'];
  if (isRequired) return isNullable && value.kind !== 'null' ? pointer : written;
  if (isNullable) return change(value);
  if (value.kind === 'list' || value.kind === 'map') return written;
  if (value.kind === 'record') return ['&', written];
  return isUpdate || meansZero ? pointer : written;
};

const FAILED = ['if err != nil {', '\tlog.Fatal(err)', '}'];

/** The call by the SDK for Go: a whole program. */
export const goSample = ({ router, name, needsKey, input, result, isList, isStream, shown }: Call): string => {
  const options = [
    `${ours('WithBaseURL')}("${SAMPLE_URL}")`,
    ...(needsKey ? [`${ours('WithAPIKey')}(os.Getenv("${KEY_VARIABLE}"))`] : []),
  ];
  const call = `client.${exportedName(router)}.${exportedName(name)}(ctx`;
  const member = exportedName(shown);
  const packages = ['context', 'fmt', 'log', ...(needsKey ? ['os'] : [])];
  return layOutLines(
    [
      'package main',
      '',
      `import (\n${packages.map((path) => `\t"${path}"\n`).join('')}\n\t"${sdks.go.module}"\n)`,
      '',
      'func main() {',
      '\tctx := context.Background()',
      layOut({ open: `client, err := ${ours('New')}(`, entries: options, close: ')' }, STYLE, '\t'),
      ...FAILED.map((line) => `\t${line}`),
      '',
      layOut(
        [`${result}${isStream ? '' : ', err'} := ${call}`, ...(input ? [', ', literal(input)] : []), ')'],
        STYLE,
        '\t',
      ),
      ...(isStream
        ? [
            `\tfor ${router}, err := range ${result}.${exportedName(result)}() {`,
            ...FAILED.map((line) => `\t\t${line}`),
          ]
        : FAILED.map((line) => `\t${line}`)),
      ...(isStream
        ? [`\t\tfmt.Println(${router}.${member})`, `\t\tbreak // ${ONE_OF_MANY}`, '\t}']
        : isList
          ? [`\tfor _, item := range ${result}.Items {`, `\t\tfmt.Println(item.${member})`, '\t}']
          : [`\tfmt.Println(${result}.${member})`]),
      '}',
    ],
    STYLE,
  );
};
