import { readFileSync } from 'node:fs';
import {
  commonReasons,
  type DeprecatedPart,
  deprecationText,
  isStream,
  type Operation,
  operations,
  protectedReasons,
  type Reason,
  writingReasons,
} from '../contract/index.ts';
import { ADDRESS, EXAMPLE_ADDRESS } from './guide-links.ts';

/** The keywords of JSON Schema that the document uses. */
interface OperationSchema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  properties?: Record<string, OperationSchema>;
  required?: string[];
  additionalProperties?: OperationSchema | false;
  items?: OperationSchema;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  format?: string;
  anyOf?: OperationSchema[];
  'x-required-any-of'?: string[];
}

interface OperationDocument {
  components: { schemas: Record<string, OperationSchema> };
  paths: Record<string, { post: { 'x-codeSamples': { label: string; source: string }[] } }>;
}

let read: OperationDocument | undefined;
/** The document, which `npm run openapi` writes before it needs these texts. */
const document = (): OperationDocument =>
  (read ??= JSON.parse(readFileSync('openapi/openapi.json', 'utf8')) as OperationDocument);

/** Larger bounds are hidden: they only say that a number fits its type. */
const LARGEST_BOUND = 1_000_000;
const LONGEST_PATTERN = 50;

/** ` 1–100`, ` ≤ 20`, or nothing. */
const range = (from: number | undefined, to: number | undefined): string => {
  if (to === undefined || to > LARGEST_BOUND) return '';
  return from ? ` ${from}–${to}` : ` ≤ ${to}`;
};

const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);
const schemaNamed = (name: string): OperationSchema => document().components.schemas[name] ?? {};

/** A readable pattern; those of URLs and one-line texts are omitted. */
const patternOf = ({ pattern }: OperationSchema): string =>
  pattern === undefined || pattern.length > LONGEST_PATTERN || pattern.includes('\\x') ? '' : ` /${pattern}/`;

/** A schema in the style of TypeScript, with its bounds: `{limit: integer 1–100, search?: string 1–100}`. */
const brief = (schema: OperationSchema): string => {
  const { $ref, type, properties, required = [], additionalProperties, items } = schema;
  if ($ref !== undefined) {
    const named = schemaNamed(nameOf($ref));
    return named.enum === undefined ? nameOf($ref) : brief(named);
  }
  if (schema.anyOf !== undefined && type === undefined) return schema.anyOf.map(brief).join(' | ');
  const suffix = Array.isArray(type) && type.includes('null') ? ' | null' : '';
  if (schema.enum !== undefined) {
    return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  }
  const kind = Array.isArray(type) ? type.find((one) => one !== 'null') : type;
  if (kind === 'array') {
    const item = brief(items ?? {});
    const element = / /.test(item) && !item.startsWith('{') ? `(${item})` : item;
    return `${element}[]${range(schema.minItems, schema.maxItems)}${suffix}`;
  }
  if (kind === 'object') {
    if (additionalProperties) return `{[name]: ${brief(additionalProperties)}}${suffix}`;
    const members = Object.entries(properties ?? {}).map(([name, member]) => {
      const isOptional = !required.includes(name);
      const preset = member.default === undefined ? '' : ` = ${JSON.stringify(member.default)}`;
      return `${name}${isOptional ? '?' : ''}: ${brief(member)}${preset}`;
    });
    return `{${members.join(', ')}}${suffix}`;
  }
  const bounds = kind === 'integer' ? range(schema.minimum, schema.maximum) : range(schema.minLength, schema.maxLength);
  return `${schema.format === 'date-time' ? 'time' : kind}${bounds}${patternOf(schema)}${suffix}`;
};

/** The names that a schema refers to, with those that these refer to. */
const named = (schema: unknown, found = new Set<string>()): Set<string> => {
  if (typeof schema !== 'object' || schema === null) return found;
  for (const [key, value] of Object.entries(schema)) {
    if (key !== '$ref') named(value, found);
    else if (!found.has(nameOf(String(value)))) {
      const name = nameOf(String(value));
      if (schemaNamed(name).enum === undefined) found.add(name);
      named(schemaNamed(name), found);
    }
  }
  return found;
};

const capitalised = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
const componentOf = ({ router, name }: Operation, suffix: string): OperationSchema =>
  schemaNamed(`${capitalised(router)}${capitalised(name)}${suffix}`);
const inputOf = (operation: Operation): OperationSchema => componentOf(operation, 'Request').properties?.['json'] ?? {};
const outputOf = (operation: Operation): OperationSchema =>
  componentOf(operation, isStream(operation) ? 'Message' : 'ReplyData').properties?.['json'] ?? {};

/** Whether several places refer to a component, so that it is described once, by its name. */
const isShared = (name: string): boolean =>
  JSON.stringify(document().components.schemas).split(`"#/components/schemas/${name}"`).length > 2;

/** A schema that is the whole input or output: its members instead of its name. */
const unfolded = (schema: OperationSchema): OperationSchema => {
  const name = schema.$ref === undefined ? undefined : nameOf(schema.$ref);
  return name !== undefined && /(In|Out)put$/.test(name) && !isShared(name) ? schemaNamed(name) : schema;
};

/** The call by curl, from the document. */
const curlOf = ({ id }: Pick<Operation, 'id'>): string => {
  const samples = document().paths[`/api/trpc/${id}`]?.post['x-codeSamples'] ?? [];
  return samples.find(({ label }) => label === 'curl')?.source.replaceAll(EXAMPLE_ADDRESS, ADDRESS) ?? '';
};

const shared: readonly Reason[] = [...commonReasons, ...protectedReasons, ...writingReasons];
const own = (reasons: readonly Reason[]): Reason[] => reasons.filter((reason) => !shared.includes(reason));

/** `filters[].label`, or `order` with a value. */
const partText = ({ path, value }: DeprecatedPart): string => {
  const place = path
    .map((step) => (step === '*' ? '[]' : `.${step}`))
    .join('')
    .slice(1);
  return value === undefined ? `\`${place}\`` : `\`${value}\` as \`${place}\``;
};

const partLine = (side: string, part: DeprecatedPart): string =>
  `- ${side} ${partText(part)}: ${deprecationText(part.deprecation)}`;

/** A line for each deprecated member and value; the description covers a deprecation of the whole operation. */
export const deprecationLines = ({ deprecatedParts: parts }: Pick<Operation, 'deprecatedParts'>): string[] => [
  ...parts.input.map((part) => partLine('Input', part)),
  ...parts.output.map((part) => partLine('Output', part)),
];

const operationText = (operation: Operation): string => {
  const { id, access, effect, reasons, route } = operation;
  const input = unfolded(inputOf(operation));
  const alternatives = input['x-required-any-of'] === undefined ? '' : ' (`page` or `cursor` is required)';
  const errors = own(reasons);
  return [
    `### ${id}`,
    '',
    `${route.description} ${access === 'public' ? 'Public' : `Scope ${access}`}, ${effect === 'read' ? 'reads' : 'writes'}.`,
    '',
    `- Input: \`${brief(input)}\`${alternatives}`,
    `- Output: \`${brief(unfolded(outputOf(operation)))}\``,
    ...(errors.length === 0 ? [] : [`- Errors: ${errors.join(', ')}`]),
    ...deprecationLines(operation),
    '',
    '```sh',
    curlOf(operation),
    '```',
  ].join('\n');
};

/** A line on an operation: its name, its summary, its access, and whether it is deprecated. */
export const operationLine = ({ id, access, route, deprecated }: Operation): string =>
  `- \`${id}\`: ${route.summary} (${access === 'public' ? access : `scope ${access}`}${deprecated ? `; deprecated, use ${deprecated.use}` : ''})`;

/** A line for each operation. */
export const operationLines = (): string => operations.map(operationLine).join('\n');

/** One call, as Markdown, and the shape of its reply. */
export const exampleText = (): string => {
  const procedure = operations[0] as Operation;
  return [
    'An example:',
    `\`\`\`sh\n${curlOf(procedure)}\n\`\`\``,
    'It answers:',
    `\`\`\`json\n${JSON.stringify({ result: { data: { json: procedure.example.output } } })}\n\`\`\``,
  ].join('\n\n');
};

/** All operations in short, as Markdown: inputs, outputs, errors of their own, and a call of each. */
export const operationsText = (): string => {
  const shown = operations.flatMap((operation) => [unfolded(inputOf(operation)), unfolded(outputOf(operation))]);
  const types = [...named(shown)].toSorted((a, b) => (a < b ? -1 : 1));
  return [
    ...operations.map(operationText),
    '### Types',
    types.map((name) => `- \`${name}\`: \`${brief(schemaNamed(name))}\``).join('\n'),
    '### Errors that operations share',
    [
      `- All: ${commonReasons.join(', ')}`,
      `- Those that need a scope: ${protectedReasons.join(', ')}`,
      `- Those that write: ${writingReasons.join(', ')}`,
    ].join('\n'),
  ].join('\n\n');
};
