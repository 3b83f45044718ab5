/** A table of Markdown, as Prettier writes it: each column is as wide as its longest cell. */
export const markdownTable: (header: readonly string[], rows: readonly (readonly string[])[]) => string;
