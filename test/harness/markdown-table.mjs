import { readFileSync, writeFileSync } from 'node:fs';

/** A table of Markdown, as Prettier writes it: each column is as wide as its longest cell. */
export const markdownTable = (header, rows) => {
  const widths = header.map((name, n) => Math.max(name.length, ...rows.map((row) => row[n].length)));
  const line = (cells) => `| ${cells.map((cell, n) => cell.padEnd(widths[n])).join(' | ')} |`;
  return [line(header), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows.map(line)].join('\n');
};

/** Puts rows into the table below a heading of a file, in place of those that begin with the same `keys` cells. */
export const updateTable = (file, heading, header, rows, keys) => {
  const keyOf = (row) => row.slice(0, keys).join(' ');
  const sections = readFileSync(file, 'utf8').split(/^(?=## )/m);
  const written = sections.map((section) => {
    if (!section.startsWith(`## ${heading}\n`)) return section;
    const lines = section.trimEnd().split('\n');
    const old = lines.filter((line) => line.startsWith('|')).slice(2);
    const cells = old.map((line) =>
      line
        .slice(1, -1)
        .split(' | ')
        .map((cell) => cell.trim()),
    );
    const all = new Map([...cells, ...rows].map((row) => [keyOf(row), row]));
    const sorted = [...all].toSorted(([one], [other]) => one.localeCompare(other, 'en', { numeric: true }));
    const prose = lines.filter((line) => !line.startsWith('|')).join('\n');
    const table = markdownTable(
      header,
      sorted.map(([, row]) => row),
    );
    return `${prose.trim()}\n\n${table}\n\n`;
  });
  writeFileSync(file, `${written.join('').trimEnd()}\n`);
};
