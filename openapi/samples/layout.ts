/** A part of a program: a text, parts one after the other, or a list in brackets. */
export type Part = string | readonly Part[] | List;

/** Bracketed entries: on one line if they fit, else each on its own. */
export interface List {
  open: string;
  entries: readonly Entry[];
  close: string;
  /** The padding inside the brackets on one line: a space, or none. */
  padding?: string;
  /** The separator of the entries. Default: a comma. */
  separator?: string;
  /** The end of the last entry where each has a line. Default: the separator. */
  end?: string;
  /** By how many steps entries are indented. Default: 1. */
  steps?: number;
  /** The longest that it may be on one line, where that is less than the line. */
  most?: number;
  /** Whether the closing bracket stays on the line of the last entry. */
  clings?: boolean;
}

/** An entry of a list; in an aligned style, what is said of neighbouring keys stands in one column. */
export type Entry = Part | { key: string; value: Part };

/** How a language is laid out. */
export interface Style {
  /** The longest line, in columns. */
  width: number;
  /** One step of indentation. */
  indent: string;
  /** Whether the values of neighbouring keys are aligned. */
  aligns?: boolean;
}

const TAB_COLUMNS = 4;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** How many columns a line takes: characters of East Asian scripts take two. */
const columnsOf = (line: string): number =>
  Array.from(line).reduce((columns, character) => {
    if (character === '\t') return columns + TAB_COLUMNS;
    return columns + (WIDE.test(character) ? 2 : 1);
  }, 0);

const isList = (part: Entry): part is List => typeof part === 'object' && 'open' in part;
const isKeyed = (entry: Entry): entry is { key: string; value: Part } => typeof entry === 'object' && 'key' in entry;

const partOf = (entry: Entry): Part => (isKeyed(entry) ? [`${entry.key} `, entry.value] : entry);

const onOneLine = (part: Part): string => {
  if (typeof part === 'string') return part;
  if (!isList(part)) return part.map(onOneLine).join('');
  const { open, entries, close, padding = '', separator = ',' } = part;
  if (entries.length === 0) return open + close;
  const gap = separator === '' ? '' : `${separator} `;
  return open + padding + entries.map((entry) => onOneLine(partOf(entry))).join(gap) + padding + close;
};

/** Pads the keys of neighbouring entries of one line each, so that their values stand in one column. */
const aligned = (entries: readonly Entry[], values: readonly string[]): string[] => {
  const isAligned = (index: number): boolean => {
    const entry = entries[index];
    return entry !== undefined && isKeyed(entry) && values[index]?.includes('\n') === false;
  };
  const keyAt = (index: number): string => (entries[index] as { key: string }).key;
  const runOf = (index: number): number[] => {
    let [first, last] = [index, index];
    while (isAligned(first - 1)) first -= 1;
    while (isAligned(last + 1)) last += 1;
    return Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
  };
  return values.map((value, index) => {
    if (!isAligned(index)) return value;
    const longest = Math.max(...runOf(index).map((other) => keyAt(other).length));
    return keyAt(index).padEnd(longest) + value.slice(keyAt(index).length);
  });
};

const lay = (part: Part, style: Style, before: string, margin: string, after: string): string => {
  if (typeof part === 'string') return part;
  if (!isList(part)) return layAll(part, style, before, margin, after);
  const flat = onOneLine(part);
  const {
    open,
    entries,
    close,
    separator = ',',
    end = separator,
    steps = 1,
    clings = false,
    most = style.width,
  } = part;
  const fits = columnsOf(before + flat + after) <= style.width && columnsOf(flat) <= most;
  if (entries.length === 0 || fits) return flat;
  const inner = margin + style.indent.repeat(steps);
  const values = entries.map((entry, index) => {
    const isLast = index === entries.length - 1;
    const tail = (isLast ? end : separator) + (isLast && clings ? close + after : '');
    return lay(partOf(entry), style, inner, inner, tail);
  });
  const lines = (style.aligns ? aligned(entries, values) : values).map(
    (value, index) => inner + value + (index === entries.length - 1 ? end : separator),
  );
  return [open, ...lines].join('\n') + (clings ? close : `\n${margin}${close}`);
};

/** Parts one after the other; the last list among them breaks first. */
const layAll = (parts: readonly Part[], style: Style, before: string, margin: string, after: string): string => {
  let written = '';
  parts.forEach((part, index) => {
    const line = (before + written).split('\n').at(-1) ?? '';
    const rest = parts
      .slice(index + 1)
      .map(onOneLine)
      .join('');
    written += lay(part, style, line, margin, (rest + after).split('\n')[0] ?? '');
  });
  return written;
};

/** The text of a part that begins on a line with this margin. */
export const layOut = (part: Part, style: Style, margin = ''): string => lay([margin, part], style, '', margin, '');

/** Statements with a margin, each from the start of a line. */
export const layOutLines = (parts: readonly Part[], style: Style, margin = ''): string =>
  parts.map((part) => (part === '' ? '' : layOut(part, style, margin))).join('\n');
