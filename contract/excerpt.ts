import { withoutKeys } from './masking.ts';
import { escapeUnseen } from './text.ts';

/** Characters of an input that a message shows at most. */
export const MAX_EXCERPT = 100;
/** Characters read to make an excerpt: masking and escaping change the length. */
const LOOKED_AT = 4 * MAX_EXCERPT;

/** A text with its control characters below U+0020 as JSON writes them. */
const escapeControls = (text: string): string =>
  Array.from(text, (character) => (character < ' ' ? JSON.stringify(character).slice(1, -1) : character)).join('');

/**
 * The beginning of a text that a caller sent, for a message: at most `max` characters, invisible ones escaped, API keys
 * masked. Its cost does not depend on the length of the text.
 */
export const excerpt = (text: string, max = MAX_EXCERPT): string => {
  const looked = withoutKeys(text.slice(0, LOOKED_AT).toWellFormed());
  const shown = Array.from(escapeUnseen(escapeControls(looked)));
  const isWhole = text.length <= LOOKED_AT && shown.length <= max;
  return isWhole ? shown.join('') : `${shown.slice(0, max - 1).join('')}…`;
};

/** Writes JSON until it has enough of it. */
class Writer {
  text = '';

  get isFull(): boolean {
    return this.text.length >= LOOKED_AT;
  }

  write(value: unknown): void {
    if (this.isFull) return;
    if (typeof value === 'string') this.text += JSON.stringify(value.slice(0, LOOKED_AT));
    else if (typeof value !== 'object' || value === null) this.text += JSON.stringify(value);
    else if (Array.isArray(value)) this.#writeAll('[', value.keys(), ']', (index) => this.write(value[index]));
    else this.#writeMembers(value as Record<string, unknown>);
  }

  #writeMembers(value: Record<string, unknown>): void {
    this.#writeAll('{', Object.keys(value), '}', (name) => {
      this.write(name);
      this.text += ':';
      this.write(value[name]);
    });
  }

  #writeAll<T>(before: string, items: Iterable<T>, after: string, write: (item: T) => void): void {
    this.text += before;
    let isFirst = true;
    for (const item of items) {
      if (this.isFull) return;
      if (!isFirst) this.text += ',';
      isFirst = false;
      write(item);
    }
    this.text += after;
  }
}

/** The beginning of a value as JSON, as `excerpt` shows a text. */
export const excerptOf = (value: unknown, max = MAX_EXCERPT): string => {
  const writer = new Writer();
  writer.write(value);
  return excerpt(writer.text, max);
};
