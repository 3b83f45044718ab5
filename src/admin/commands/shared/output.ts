// The result of a command is written to the standard output, messages about it to the standard error.
import { escapeOf, escapeUnseen } from '../../../../contract/text.ts';

const write = (lines: readonly string[]): void => {
  if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
};

/** Prints lines of the result. */
export const print = (...lines: string[]): void => write(lines);

/** Prints a message for the operator that is not part of the result. */
export const note = (message: string): void => {
  process.stderr.write(`${message}\n`);
};

/** Prints each value as a line of JSON. */
export const printJsonLines = (values: readonly object[]): void => {
  write(values.map((value) => escapeUnseen(JSON.stringify(value))));
};

/** Removes control characters of terminals from a text: older records may contain them. */
export const printable = (text: string): string => escapeUnseen(text).replaceAll(/\p{Cc}/gu, escapeOf);

/**
 * Prints a table with a line of headings. Two spaces separate columns; free text belongs into the last column, whose
 * width does not matter.
 */
export const printTable = (headings: readonly string[], rows: readonly (readonly string[])[]): void => {
  const lines = [headings, ...rows].map((cells) => cells.map(printable));
  const widths = headings.map((_, column) =>
    lines.reduce((width, cells) => Math.max(width, cells[column]?.length ?? 0), 0),
  );
  write(
    lines.map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    ),
  );
};

/** The cells of a row by their headings: each is a member of the row, or a function of the row. */
type Columns<Row> = Readonly<Record<string, keyof Row | ((row: Row) => unknown)>>;

/** Prints rows as a table, or each as a line of JSON. */
export const printRows = <Row extends object>(rows: readonly Row[], columns: Columns<Row>, json = false): void => {
  if (json) {
    printJsonLines(rows);
    return;
  }
  const cells = Object.values(columns);
  printTable(
    Object.keys(columns),
    rows.map((row) => cells.map((cell) => cellOf((typeof cell === 'function' ? cell(row) : row[cell]) ?? ''))),
  );
};

/** The text of a value in a cell. */
const cellOf = (value: unknown): string => {
  if (value === null || value === undefined) return '-';
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' ? value : JSON.stringify(value);
};

/** Prints an object as JSON, or as a line for each member. */
export const printObject = (value: object, json: boolean | undefined): void => {
  if (json) printJsonLines([value]);
  else
    printTable(
      ['FIELD', 'VALUE'],
      Object.entries(value).map(([name, member]) => [name, cellOf(member)]),
    );
};
