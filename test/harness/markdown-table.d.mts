/** A table of Markdown, as Prettier writes it: each column is as wide as its longest cell. */
export const markdownTable: (header: readonly string[], rows: readonly (readonly string[])[]) => string;
/** Puts rows into the table below a heading of a file, in place of those that begin with the same `keys` cells. */
export const updateTable: (
  file: string,
  heading: string,
  header: readonly string[],
  rows: readonly (readonly string[])[],
  keys: number,
) => void;
