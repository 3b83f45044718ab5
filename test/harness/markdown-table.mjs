/** A table of Markdown, as Prettier writes it: each column is as wide as its longest cell. */
export const markdownTable = (header, rows) => {
  const widths = header.map((name, n) => Math.max(name.length, ...rows.map((row) => row[n].length)));
  const line = (cells) => `| ${cells.map((cell, n) => cell.padEnd(widths[n])).join(' | ')} |`;
  return [line(header), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows.map(line)].join('\n');
};
