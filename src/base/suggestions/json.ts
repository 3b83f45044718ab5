/**
 * The first fault of a text that is not JSON: https://www.rfc-editor.org/rfc/rfc8259. Engines word this differently, or
 * not at all. A library such as jsonc-parser gives a code and an offset, but neither the wrong word nor its JSON. It
 * parses recursively: 10 000 open brackets overflow its stack, and anonymous callers send the input.
 */

interface JsonFault {
  /** The offset in UTF-16 units. */
  at: number;
  /** A description of the fault. It repeats at most one punctuation mark of the text. */
  what: string;
}

const OBJECT = 1;
const ARRAY = 2;

const SPACE = /[ \t\n\r]*/y;
const LONGEST_WORD = 20;
const WORD = /[\p{L}\p{N}_$.+-]{0,20}/uy;
const LITERAL = /true|false|null/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?/iy;
/** The possible beginning of a JSON literal or number. */
const BEGINNING = /^(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|-?\d*\.?|-?\d+(?:\.\d+)?e[+-]?)$/i;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** Literals of other languages with their JSON, if it exists. */
const WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    NaN: '`NaN`, which JSON lacks: send null or leave it out',
    Infinity: '`Infinity`, which JSON lacks',
    '-Infinity': '`-Infinity`, which JSON lacks',
    undefined: '`undefined`, which JSON lacks: leave the member out',
    None: '`None`, which is `null` in JSON',
    nil: '`nil`, which is `null` in JSON',
    NULL: '`NULL`, which is `null` in JSON',
    True: '`True`, which is `true` in JSON',
    False: '`False`, which is `false` in JSON',
    TRUE: '`TRUE`, which is `true` in JSON',
    FALSE: '`FALSE`, which is `false` in JSON',
  }),
);

const matchAt = (pattern: RegExp, text: string, at: number): string => {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
};

/** Describes a character without revealing any of the text. */
const nameOf = (text: string, at: number): string => {
  const code = text.codePointAt(at) ?? 0;
  const character = String.fromCodePoint(code);
  if (/\p{L}/u.test(character)) return 'a letter';
  if (/\d/.test(character)) return 'a digit';
  if (code > 32 && code < 127) return character === '`' ? 'a backtick' : `\`${character}\``;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
};

const isQuote = (character: string): boolean => /['‘’“”«»]/.test(character);

const A_VALUE = 'a value';

/** Describes an unexpected character at the position of a value or of `needed`. */
const unexpectedCharacter = (text: string, at: number, needed: string): string => {
  const character = text.charAt(at);
  if (character === "'") return 'a single quote: JSON takes double quotes only';
  if (isQuote(character)) return 'a typographic quote: JSON takes `"` only';
  if (character === '/' && /[/*]/.test(text.charAt(at + 1))) return 'a comment, which JSON lacks';
  const word = matchAt(WORD, text, at);
  const known = WORDS.get(word);
  if (known !== undefined) return known;
  if (needed === A_VALUE && /^[+.]?\d|^-/.test(word)) return 'a number that is not written as JSON wants it';
  if (/^[\p{L}_$]/u.test(word)) return `a word without double quotes, where ${needed} is needed`;
  return `${nameOf(text, at)}, where ${needed} is needed`;
};

/** The format of a text that does not begin like JSON. */
const otherFormat = (text: string): string | undefined => {
  const start = text.slice(0, 100);
  if (start.startsWith('\ufeff')) return 'a byte order mark (U+FEFF): send the text without it';
  if (start.includes('\0')) return 'U+0000: the text seems to be UTF-16; send UTF-8';
  if (/^\s*</.test(start)) return '`<`: this seems to be XML or HTML';
  if (/^--[\w'()+,./:=?-]+\r?\n/.test(start)) return '`--`: this seems to be a multipart form';
  if (/^%7b|^%22|^%5b/i.test(start)) return '`%`: the text is URL-encoded, or encoded once too often';
  if (/^[\w.[\]%+-]+=/.test(start)) return 'a name and `=`: this seems to be a form';
  return undefined;
};

/** Parses a text as JSON up to its first fault. */
class JsonReader {
  #at = 0;
  /** The open objects and arrays. */
  readonly #open: Uint8Array;
  #depth = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
    this.#open = new Uint8Array(text.length + 1);
  }

  /** The first fault, if any. */
  read(): JsonFault | undefined {
    for (;;) {
      const fault = this.#value();
      if (fault) return fault;
      // Closes all levels that end here.
      for (;;) {
        this.#skip();
        if (this.#depth === 0) return this.#isEnd ? undefined : this.#fault(`${this.#here} after the end of the JSON`);
        const next = this.#next();
        if (next === 'value') break;
        if (next !== 'closed') return next;
      }
    }
  }

  get #isEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  get #character(): string {
    return this.#text.charAt(this.#at);
  }

  get #here(): string {
    return nameOf(this.#text, this.#at);
  }

  get #inside(): string {
    return this.#open[this.#depth] === OBJECT ? 'an object' : 'an array';
  }

  #skip(): void {
    this.#at += matchAt(SPACE, this.#text, this.#at).length;
  }

  #fault(what: string): JsonFault {
    return { at: this.#at, what };
  }

  #end(where: string): JsonFault {
    return this.#fault(`the text ends ${where}; is it cut off?`);
  }

  /** Reads a value. It reads an object or array only up to its first scalar. */
  #value(): JsonFault | undefined {
    for (;;) {
      this.#skip();
      if (this.#isEnd) return this.#end(this.#depth === 0 ? `where ${A_VALUE} is needed` : `inside ${this.#inside}`);
      const character = this.#character;
      if (character === '{' || character === '[') {
        this.#at += 1;
        this.#depth += 1;
        this.#open[this.#depth] = character === '{' ? OBJECT : ARRAY;
        this.#skip();
        if (this.#character === (character === '{' ? '}' : ']')) {
          this.#at += 1;
          this.#depth -= 1;
          return undefined;
        }
        const fault = character === '{' ? this.#name() : undefined;
        if (fault) return fault;
      } else if (character === '"') return this.#string();
      else return this.#scalar();
    }
  }

  #scalar(): JsonFault | undefined {
    const read = matchAt(LITERAL, this.#text, this.#at) || matchAt(NUMBER, this.#text, this.#at);
    const word = matchAt(WORD, this.#text, this.#at);
    // The word holds only the beginning of a long number.
    if (read !== '' && (word.length <= read.length || word.length >= LONGEST_WORD)) {
      this.#at += read.length;
      return undefined;
    }
    if (word !== '' && this.#at + word.length === this.#text.length && BEGINNING.test(word)) {
      this.#at = this.#text.length;
      return this.#end('inside a word or a number');
    }
    return this.#fault(unexpectedCharacter(this.#text, this.#at, A_VALUE));
  }

  /** Reads the name of a member and the colon after it. */
  #name(): JsonFault | undefined {
    this.#skip();
    if (this.#isEnd) return this.#end('inside an object');
    if (this.#character !== '"')
      return this.#fault(unexpectedCharacter(this.#text, this.#at, 'a name in double quotes'));
    const fault = this.#string();
    if (fault) return fault;
    this.#skip();
    if (this.#isEnd) return this.#end('inside an object');
    if (this.#text.charAt(this.#at) !== ':') return this.#fault(`${this.#here}, where a colon is needed`);
    this.#at += 1;
    return undefined;
  }

  /** Reads the token after a value in an object or array: the next value, the end, or a fault. */
  #next(): 'value' | 'closed' | JsonFault {
    if (this.#isEnd) return this.#end(`inside ${this.#inside}`);
    const isObject = this.#open[this.#depth] === OBJECT;
    const character = this.#character;
    if (character === (isObject ? '}' : ']')) {
      this.#at += 1;
      this.#depth -= 1;
      return 'closed';
    }
    if (character !== ',') {
      const needed = `a comma or \`${isObject ? '}' : ']'}\``;
      return this.#fault(unexpectedCharacter(this.#text, this.#at, needed));
    }
    this.#at += 1;
    this.#skip();
    if (this.#character === '}' || this.#character === ']') {
      return this.#fault(`${this.#here} after a comma; remove the comma`);
    }
    return (isObject ? this.#name() : undefined) ?? 'value';
  }

  #string(): JsonFault | undefined {
    this.#at += 1;
    for (; !this.#isEnd; this.#at += 1) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === 0x22) {
        this.#at += 1;
        return undefined;
      }
      if (code === 0x5c) {
        const escape = matchAt(ESCAPE, this.#text, this.#at);
        if (escape === '') return this.#brokenEscape();
        this.#at += escape.length - 1;
      } else if (code === 0x0a || code === 0x0d) {
        return this.#fault('a line break inside a string: write it as `\\n`, or close the string before it');
      } else if (code < 0x20) return this.#fault(`${this.#here} inside a string: escape it`);
    }
    return this.#end('inside a string');
  }

  #brokenEscape(): JsonFault {
    if (this.#at + 1 >= this.#text.length) {
      this.#at = this.#text.length;
      return this.#end('inside a string');
    }
    return this.#fault('a backslash that escapes nothing: write it twice');
  }
}

/** The first fault of a text; undefined for valid JSON. */
export const jsonFault = (text: string): JsonFault | undefined => {
  const fault = new JsonReader(text).read();
  const other = fault && otherFormat(text);
  return fault && other !== undefined ? { at: 0, what: other } : fault;
};

/** The line and column of an offset, both from 1, in characters. */
const positionOf = (text: string, at: number): string => {
  const before = text.slice(0, at);
  const lines = before.split(/\r\n|\n|\r/);
  return `Line ${lines.length}, column ${Array.from(lines.at(-1) ?? '').length + 1}`;
};

/** `Line 1, column 28: `}` after a comma; remove the comma.`; undefined for valid JSON. */
export const jsonHint = (text: string): string | undefined => {
  const fault = jsonFault(text);
  if (!fault) return undefined;
  const { at, what } = fault;
  return `${positionOf(text, at)}: ${what}${what.endsWith('?') ? '' : '.'}`;
};
