import { Argument, Command, Option } from 'commander';
import type { Config } from '../../../config/config.ts';
import type { DatabaseOptions } from '../../../db/connection.ts';
import type { Database } from '../../../db/database.ts';
import { readSettings, withDatabase } from './common.ts';

/** An id in examples. */
export const EXAMPLE_ID = '019a3c5e-b150-7e85-9f52-9d40ce61a205';

/** An argument or an option of a command. `Value` is the type of its value. */
export interface Input<Value> {
  /** Adds it to a command under this name. */
  addTo: (command: Command, name: string) => void;
  isArgument?: true;
  /** The value if it is missing. */
  otherwise?: false;
  /** Whether it may be repeated. */
  isList?: true;
  readonly type?: Value;
}

type Inputs = Record<string, Input<unknown>>;
type Parse<Value> = (text: string) => Value;

/** The values of inputs, by their names. */
export type Given<Declared extends Inputs> = {
  [Name in keyof Declared]: Declared[Name] extends Input<infer Value> ? Value : never;
};

/** An argument, by its term: `<id>`, `[id]` if it is optional, `<id...>` for several. */
export const argument = <Value = string>(
  term: string,
  description: string,
  parse?: (text: string, earlier?: Value) => Value,
): Input<NoInfer<Value>> => ({
  isArgument: true,
  addTo: (command) => {
    const added = new Argument(term, description);
    command.addArgument(parse ? added.argParser(parse) : added);
  },
});

/** `unusedSince` → `--unused-since` */
const flagOf = (name: string): string => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

interface OptionSettings<Value> {
  parse?: ((text: string, earlier?: Value) => Value) | undefined;
  choices?: readonly Value[];
  /** The names of the options that it excludes. */
  conflicts?: string[];
  /** The environment variable that may hold it. */
  env?: string;
}

/** Adds an option to a command. */
const adding =
  <Value>(
    term: string,
    description: string,
    { parse, choices, conflicts, env }: OptionSettings<Value>,
    configure: (option: Option) => void = () => {},
  ): Input<unknown>['addTo'] =>
  (command, name) => {
    const added = new Option(`${flagOf(name)} ${term}`.trim(), description);
    if (parse) added.argParser(parse);
    if (choices) added.choices(choices as readonly string[]);
    if (conflicts) added.conflicts(conflicts);
    if (env !== undefined) added.env(env);
    configure(added);
    command.addOption(added);
  };

/** An option with a value, such as `<user>`. */
export const option = <Value = string>(
  term: string,
  description: string,
  settings: OptionSettings<Value> | Parse<Value> = {},
): Input<NoInfer<Value> | undefined> => ({
  addTo: adding(term, description, typeof settings === 'function' ? { parse: settings } : settings),
});

/** A required option. */
export const required = <Value = string>(
  term: string,
  description: string,
  parse?: Parse<Value>,
): Input<NoInfer<Value>> => ({
  addTo: adding(term, description, { parse }, (one) => one.makeOptionMandatory()),
});

/** An option with a default, which the help shows as `shown`. */
export const defaulted = <Value = string>(
  term: string,
  description: string,
  value: Value,
  { parse, shown }: { parse?: Parse<Value>; shown?: string } = {},
): Input<Value> => ({
  addTo: adding(term, description, { parse }, (one) => one.default(value, shown)),
});

/** An option that may be repeated. */
export const optionList = (term: string, description: string): Input<string[] | undefined> => ({
  isList: true,
  ...option<string[]>(term, description, { parse: (text, earlier = []) => [...earlier, text] }),
});

/** An option without a value. */
export const flag = (description: string, settings: OptionSettings<boolean> = {}): Input<boolean> => ({
  otherwise: false,
  addTo: adding('', description, settings),
});

/** An option `--no-…` without a value: true if it is missing. */
export const negation = (description: string): Input<boolean> => ({
  addTo: (command, name) => void command.option(`--no-${name}`, description),
});

export const jsonLines = flag('print one JSON object per line instead of a table');
export const jsonObject = flag('print a JSON object instead of a table');
export const jsonNotSentence = flag('print a JSON object instead of a sentence');

interface CommandRow<Declared extends Inputs> {
  summary: string;
  description: string;
  /** Its arguments and options by their names, in the order of the help. */
  input?: Declared;
  /** Valid calls, without the program and the command. */
  examples: readonly string[];
  /** Lines of the help after the examples. */
  notes?: readonly string[];
  /** Whether a repeated option is refused: otherwise the last one would win silently. */
  refusesRepeated?: true;
  run: (given: Given<Declared>) => Promise<void> | void;
}

/** Makes a command of this name. */
export type MakeCommand = (name: string) => Command;

/** The full name of a command, with the program. */
export const callOf = (command: Command): string =>
  command.parent ? `${callOf(command.parent)} ${command.name()}` : command.name();

const examplesOf = (command: Command, examples: readonly string[]): string[] => [
  '',
  examples.length === 1 ? 'Example:' : 'Examples:',
  ...examples.map((example) => `  ${callOf(command)} ${example}`.trimEnd()),
];

const refuseRepeated = (made: Command, lists: readonly string[]): void => {
  for (const one of made.options.filter(({ long }) => !lists.includes(long ?? ''))) {
    let isGiven = false;
    made.on(`option:${one.name()}`, () => {
      if (isGiven) made.error(`error: option '${one.flags}' is given twice`);
      isGiven = true;
    });
  }
};

/** A command. */
export const command =
  <Declared extends Inputs = Record<string, never>>({
    summary,
    description,
    input = {} as Declared,
    examples,
    notes = [],
    refusesRepeated,
    run,
  }: CommandRow<Declared>): MakeCommand =>
  (name) => {
    const made = new Command(name).summary(summary).description(description);
    const inputs = Object.entries(input);
    for (const [called, one] of inputs) one.addTo(made, called);
    if (refusesRepeated) {
      refuseRepeated(
        made,
        inputs.filter(([, one]) => one.isList).map(([called]) => flagOf(called)),
      );
    }
    made.addHelpText('after', () => [...examplesOf(made, examples), ...notes].join('\n'));
    return made.action((...passed: unknown[]) => {
      const options = made.opts<Record<string, unknown>>();
      const given = inputs.map(([called, one]) => {
        const value = one.isArgument ? passed.shift() : options[called];
        return [called, value ?? one.otherwise];
      });
      return run(Object.fromEntries(given) as Given<Declared>);
    });
  };

interface DatabaseCommandRow<Declared extends Inputs> extends Omit<CommandRow<Declared>, 'run'> {
  database?: DatabaseOptions;
  run: (db: Database, given: Given<Declared>, config: Config) => Promise<void>;
}

/** A command that needs a database with all its tables. */
export const databaseCommand = <Declared extends Inputs = Record<string, never>>({
  database,
  run,
  ...row
}: DatabaseCommandRow<Declared>): MakeCommand =>
  command<Declared>({
    ...row,
    run: (given) => {
      const config = readSettings();
      return withDatabase(config, (db) => run(db, given, config), database);
    },
  });

/** A command that only has subcommands. */
export const commandGroup =
  (summary: string, description: string, commands: Readonly<Record<string, MakeCommand>>): MakeCommand =>
  (name) => {
    const made = new Command(name).summary(summary).description(description);
    for (const [called, make] of Object.entries(commands)) made.addCommand(make(called));
    return made;
  };
