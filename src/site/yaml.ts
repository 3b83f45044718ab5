import { createRequire } from 'node:module';
import { nextTurn } from '../base/runtime.ts';
import { escapeUnseen } from '../../contract/text.ts';

const require = createRequire(import.meta.url);

/** Quotes all texts that some parser takes for something else, as YAML 1.1 does with times and `no`. */
const OPTIONS = { compat: 'yaml-1.1', lineWidth: 0, aliasDuplicateObjects: false } as const;

/** A value as YAML, with its invisible characters escaped. */
const textOf = (value: unknown): string => {
  // Loaded on demand: few clients ask for YAML.
  const { stringify } = require('yaml') as typeof import('yaml');
  const text = stringify(value, OPTIONS);
  if (escapeUnseen(text) === text) return text;
  // Only double quotes allow escapes.
  return escapeUnseen(stringify(value, { ...OPTIONS, defaultStringType: 'QUOTE_DOUBLE' }));
};

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, '  ');

/**
 * An object as YAML. Other work can run between the members of the first `depth` levels: a whole document takes a
 * quarter of a second.
 */
export const yamlOf = async (value: object, depth = 3): Promise<string> => {
  const texts: string[] = [];
  for (const [key, member] of Object.entries(value)) {
    if (depth > 1 && isObject(member)) {
      texts.push(`${textOf(key).trimEnd()}:\n${indented(await yamlOf(member, depth - 1))}`);
    } else {
      texts.push(textOf({ [key]: member }));
      await nextTurn();
    }
  }
  return texts.join('');
};
