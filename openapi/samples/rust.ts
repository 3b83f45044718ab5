import { type Call, type Member, type RecordValue, type Value, valuesIn, writerOf } from './call.ts';
import { layOut, layOutLines, type Part } from './layout.ts';
import { KEY_VARIABLE, pascalCase, SAMPLE_URL, sdks, snakeCase } from './names.ts';

const STYLE = { width: 100, indent: '    ' };
/** The longest list that rustfmt leaves on one line. */
const LIST_WIDTH = 60;

/** Words that no member can be named. */
const KEYWORDS = ['type'];

/** A text as Rust writes it, which knows fewer escapes than JSON. */
const text = (value: string): string =>
  JSON.stringify(value).replaceAll(/\\(u([0-9a-f]{4})|.)/g, (escape, kind: string, code: string | undefined) => {
    if (code !== undefined) return `\\u{${Number.parseInt(code, 16).toString(16)}}`;
    return kind === 'b' ? String.raw`\u{8}` : kind === 'f' ? String.raw`\u{c}` : escape;
  });

const fieldName = (name: string): string => (KEYWORDS.includes(name) ? `${name}_` : snakeCase(name));

const record = (value: RecordValue): Part => {
  const fields = value.members.map((member) => [`${fieldName(member.name)}: `, field(member, value.isUpdate)]);
  const [entries, end] = value.isComplete ? [fields, ','] : [[...fields, '..Default::default()'], ''];
  // One on each line, however short: rustfmt leaves none together that holds more than 18 characters.
  return { open: `${value.type} {`, entries, close: '}', end, most: 0 };
};

const listOf = (items: readonly Part[]): Part => {
  // One alone follows the bracket.
  if (items.length === 1) return ['vec![', ...items, ']'];
  return { open: 'vec![', entries: items, close: ']', most: LIST_WIDTH };
};

const literal = writerOf({
  null: () => 'None',
  text: ({ value }) => `${text(value)}.into()`,
  choice: ({ type, value }) => `${type}::${pascalCase(value)}`,
  number: ({ value }) => String(value),
  boolean: ({ value }) => String(value),
  list: ({ items }) => listOf(items.map(literal)),
  map: ({ type, entries }) => {
    const pairs = entries.map(([name, value]) => [`(${text(name)}.into(), `, literal(value), ')']);
    return [`${type}(BTreeMap::from(`, { open: '[', entries: pairs, close: ']', most: LIST_WIDTH }, '))'];
  },
  record: (value) => record(value),
});

/** A member: in `Some` where it can be left out. */
const field = ({ value, isRequired, isNullable }: Member, isUpdate: boolean): Part => {
  const written = literal(value);
  const given = ['Some(', written, ')'];
  if (isRequired) return isNullable && value.kind !== 'null' ? given : written;
  if (isNullable) return value.kind === 'null' ? 'Some(Change::Clear)' : ['Some(Change::To(', written, '))'];
  return value.kind === 'list' && !isUpdate ? written : given;
};

/** Whether a member is changed or cleared, which takes a type of its own. */
const hasChange = (value: Value): boolean =>
  value.kind === 'record' && value.members.some((member) => !member.isRequired && member.isNullable);

const imports = (input: RecordValue | undefined): string => {
  const crate = sdks.rust.crate.replaceAll('-', '_');
  if (input === undefined) return `use ${crate}::ContentGateway;`;
  const values = valuesIn(input);
  const types = [...new Set(values.flatMap((value) => ('type' in value ? value.type : [])))].toSorted();
  const own = [...(values.some(hasChange) ? ['Change'] : []), 'ContentGateway'];
  const std = values.some(({ kind }) => kind === 'map') ? 'use std::collections::BTreeMap;\n\n' : '';
  const [only] = types;
  if (types.length === 1) return `${std}use ${crate}::{${[...own, `types::${only}`].join(', ')}};`;
  return `${std}use ${crate}::{\n    ${own.join(', ')},\n    types::{${types.join(', ')}},\n};`;
};

/** The call by the SDK for Rust: a whole program. */
export const rustSample = ({ router, name, needsKey, input, result, isList, isStream, shown }: Call): string => {
  const margin = STYLE.indent;
  const settings = [
    `.base_url("${SAMPLE_URL}")`,
    ...(needsKey ? [`.api_key(std::env::var("${KEY_VARIABLE}")?)`] : []),
    '.build()?',
  ];
  const call = `gateway.${snakeCase(router)}().${snakeCase(name)}(${input ? 'input' : ''})${isStream ? '' : '.await?'};`;
  const member = fieldName(shown);
  return layOutLines(
    [
      imports(input),
      '',
      '#[tokio::main(flavor = "current_thread")]',
      'async fn main() -> Result<(), Box<dyn std::error::Error>> {',
      `${margin}let gateway = ContentGateway::builder()`,
      ...settings.map((setting, index) => `${margin}${margin}${setting}${index === settings.length - 1 ? ';' : ''}`),
      '',
      ...(input ? [layOut(['let input = ', record(input), ';'], STYLE, margin)] : []),
      `${margin}let ${isStream ? 'mut ' : ''}${result} = ${call}`,
      ...(isStream
        ? [
            `${margin}// With while in place of if, it goes on with each event as it comes.`,
            `${margin}if let Some(${router}) = ${result}.next().await {`,
            `${margin}${margin}println!("{}", ${router}?.${member});`,
            `${margin}}`,
          ]
        : isList
          ? [
              `${margin}for item in &${result}.items {`,
              `${margin}${margin}println!("{}", item.${member});`,
              `${margin}}`,
            ]
          : [`${margin}println!("{}", ${result}.${member});`]),
      `${margin}Ok(())`,
      '}',
    ],
    STYLE,
  );
};
