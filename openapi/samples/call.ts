import type { z } from 'zod';
import { procedures, type Route, type StreamRoute } from '../../contract/index.ts';
import { SchemaComponents } from '../schemas.ts';
import type { Part } from './layout.ts';

/** The items of a list. */
interface ItemType {
  /** The name of their schema, where it has one. */
  of: string | undefined;
}

/** A value of an example, with what a typed language must know of it to write it down. */
export type Value =
  /** `list` is there where a list is cleared, and is what it would hold. */
  | { kind: 'null'; list?: ItemType }
  | { kind: 'text'; value: string }
  | { kind: 'number'; value: number }
  | { kind: 'boolean'; value: boolean }
  /** `type` is the name of the schema that lists the values. */
  | { kind: 'choice'; type: string; value: string }
  | ({ kind: 'list'; items: Value[] } & ItemType)
  | { kind: 'map'; type: string; entries: [name: string, value: Value][] }
  | RecordValue;

/** An object. */
export interface RecordValue {
  kind: 'record';
  /** The name of its schema. */
  type: string;
  members: Member[];
  /** Whether all members that there can be are given. */
  isComplete: boolean;
  /** Whether it is an update: what is left out stays as it is, null clears. */
  isUpdate: boolean;
}

/** A member of an object. */
export interface Member {
  name: string;
  value: Value;
  /** Whether callers of the SDKs must give it. */
  isRequired: boolean;
  isNullable: boolean;
  /** Whether false, 0 or nothing at all would be a value of its own, rather than the same as leaving it out. */
  meansZero: boolean;
}

/** Members that the service requires, and that the SDKs send by themselves where they are left out. */
const FILLED_IN = ['limit'];

/** How a language writes each kind of value. */
type Writers = { [K in Value['kind']]: (value: Extract<Value, { kind: K }>) => Part };

/** Writes any value down. */
export const writerOf =
  (writers: Writers) =>
  (value: Value): Part =>
    (writers[value.kind] as (value: Value) => Part)(value);

/** A value and all those within it. */
export const valuesIn = (value: Value): Value[] => {
  if (value.kind === 'list') return [value, ...value.items.flatMap(valuesIn)];
  return value.kind === 'record' ? [value, ...value.members.flatMap((member) => valuesIn(member.value))] : [value];
};

/** The content of a sample: a call of an operation with the input of its example, and the printed part of the output. */
export interface Call {
  /** `/api/trpc/game.create` */
  path: string;
  /** `game` */
  router: string;
  /** `create` */
  name: string;
  needsKey: boolean;
  /** Absent where there are no parameters. */
  input: RecordValue | undefined;
  /** The input as it is sent. */
  json: unknown;
  /** The name of the output: `game`. */
  result: string;
  /** Whether the output is a list, of which each item is printed. */
  isList: boolean;
  /** Whether it is a stream without an end, of which one event is taken. */
  isStream?: boolean;
  /** The member that is printed. */
  shown: string;
}

interface Schema {
  $ref?: string;
  type?: string | string[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: unknown[];
  minimum?: number;
}

const nameOf = ($ref: string): string => $ref.slice($ref.lastIndexOf('/') + 1);

const itemType = ({ $ref }: Schema): ItemType => ({ of: $ref === undefined ? undefined : nameOf($ref) });

const isNullable = ({ type, anyOf = [] }: Schema): boolean =>
  type === 'null' || (Array.isArray(type) && type.includes('null')) || anyOf.some(isNullable);

/** The schemas of the contract. */
class Schemas {
  readonly #components = new SchemaComponents('3.1');

  /** The member of an envelope's innermost object. */
  inside(envelope: z.ZodType, io: 'input' | 'output', ...path: string[]): Schema {
    return path.reduce<Schema>(
      (schema, member) => this.resolve(schema).properties?.[member] ?? {},
      this.#components.ref(envelope, io),
    );
  }

  resolve(schema: Schema): Schema {
    return schema.$ref === undefined ? schema : (this.#components.schemas[nameOf(schema.$ref)] as Schema);
  }

  /** A value with what its schema says of it. @throws Error for what no language here could write */
  value(schema: Schema, value: unknown): Value {
    if (value === null) {
      const { items } = this.resolve(schema);
      return items === undefined ? { kind: 'null' } : { kind: 'null', list: itemType(items) };
    }
    if (typeof value === 'number') return { kind: 'number', value };
    if (typeof value === 'boolean') return { kind: 'boolean', value };
    const type = schema.$ref === undefined ? undefined : nameOf(schema.$ref);
    const { items = {}, enum: choices, properties } = this.resolve(schema);
    if (typeof value === 'string') {
      return type !== undefined && choices ? { kind: 'choice', type, value } : { kind: 'text', value };
    }
    if (Array.isArray(value)) {
      return { kind: 'list', items: value.map((item) => this.value(items, item)), ...itemType(items) };
    }
    if (type === undefined) throw new Error('An object in an example has a schema without a name');
    if (properties === undefined) {
      const entries = Object.entries(value as object).map(([name, entry]): [string, Value] => [
        name,
        this.value({}, entry),
      ]);
      return { kind: 'map', type, entries };
    }
    return this.record(type, this.resolve(schema), value as Record<string, unknown>);
  }

  record(type: string, { properties = {}, required = [] }: Schema, value: Record<string, unknown>): RecordValue {
    const members = Object.entries(value).map(([name, member]) => {
      const schema = properties[name] ?? {};
      const { type: kind, minimum = 0 } = this.resolve(schema);
      return {
        name,
        value: this.value(schema, member),
        isRequired: required.includes(name) && !FILLED_IN.includes(name),
        isNullable: isNullable(schema),
        meansZero: kind === 'integer' ? minimum <= 0 : kind !== 'string',
      };
    });
    return {
      kind: 'record',
      type,
      members,
      isComplete: members.length === Object.keys(properties).length,
      isUpdate: Object.entries(properties).some(([name, schema]) => isNullable(schema) && !required.includes(name)),
    };
  }
}

/** The first member that says something to a reader: neither perhaps null, nor made of parts, nor an id unless it is all there is. */
const tellingMember = (schemas: Schemas, { properties = {} }: Schema): string => {
  const plain = Object.entries(properties)
    .filter(
      ([, schema]) =>
        !isNullable(schema) && ['string', 'integer', 'boolean'].includes(String(schemas.resolve(schema).type)),
    )
    .map(([name]) => name);
  const found = plain.find((name) => !/^id$|Id$/.test(name)) ?? plain[0];
  if (found === undefined) throw new Error('An output has nothing that a sample could print');
  return found;
};

/** `Game` is a `game`, `ImagePost` a `post`; what only wraps others a `page` or a `result`. */
const resultName = (type: string, { properties = {} }: Schema): string => {
  if (!type.endsWith('Output')) return (/[A-Z][a-z]+$/.exec(type)?.[0] ?? type).toLowerCase();
  return 'nextCursor' in properties ? 'page' : 'result';
};

/** The call that the samples of an operation show. */
export const callOf = ({ path, body, responses, metadata }: Route): Call => {
  const { id, access, inputOptional, example } = metadata;
  const [router = '', name = ''] = id.split('.');
  const schemas = new Schemas();
  const inputSchema = schemas.inside(body, 'input', 'json');
  const outputSchema = schemas.inside(responses[200], 'output', 'result', 'data', 'json');
  const output = schemas.resolve(outputSchema);
  const { items } = output.properties ?? {};
  return {
    path,
    router,
    name,
    needsKey: access !== 'public',
    input: inputOptional ? undefined : (schemas.value(inputSchema, example.input) as RecordValue),
    json: example.input,
    result: resultName(nameOf(outputSchema.$ref ?? ''), output),
    isList: items !== undefined,
    shown: tellingMember(schemas, items === undefined ? output : schemas.resolve(items.items ?? {})),
  };
};

/** How the samples of a stream say that there is more than the one event that they take. */
export const ONE_OF_MANY = 'Without this line, it goes on with each event as it comes.';

/** The call that follows a stream. The SDKs take for it the input of its router's list. */
export const streamCallOf = ({ path, metadata: { id, access, message, example } }: StreamRoute): Call => {
  const [router = '', name = ''] = id.split('.');
  const schemas = new Schemas();
  const list = procedures.find((procedure) => procedure.id === `${router}.list`);
  if (list === undefined) throw new Error(`No list has the input of ${id}`);
  const inputSchema = schemas.inside(list.route.body, 'input', 'json');
  const members = Object.keys(schemas.resolve(inputSchema).properties ?? {});
  const json = Object.fromEntries(
    Object.entries(example.input as object).filter(([member]) => members.includes(member)),
  );
  return {
    path,
    router,
    name,
    needsKey: access !== 'public',
    input: schemas.value(inputSchema, json) as RecordValue,
    json,
    result: `${router}s`,
    isList: false,
    isStream: true,
    shown: tellingMember(schemas, schemas.resolve(schemas.inside(message, 'output', 'json'))),
  };
};
