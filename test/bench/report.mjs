import { readFileSync, writeFileSync, existsSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { spawnSync } from 'node:child_process';

const RESULTS = fileURLToPath(new URL('RESULTS.md', import.meta.url));

/** A Markdown table; all columns but the first `texts` hold numbers. */
export const markdownTable = (head, rows, texts = 1) =>
  [head, head.map((_, column) => (column < texts ? '---' : '---:')), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');

/** A number with three digits that count, and spaces between thousands. */
export const figure = (value) => {
  if (value === undefined || Number.isNaN(value)) return '–';
  if (value >= 100) return Math.round(value).toLocaleString('en').replaceAll(',', ' ');
  return value.toFixed(value >= 10 ? 1 : 2);
};

/** A whole number, with spaces between thousands. */
export const count = (value) => value.toLocaleString('en').replaceAll(',', ' ');

/** A part of a whole in percent. */
export const share = (part, whole) => {
  if (whole === 0) return '–';
  return part === 0 ? '0' : `${figure((part / whole) * 100)} %`;
};

/** Behind the figure of a row some of whose requests were refused. */
export const refusalMark = ({ refused }) => (refused > 0 ? ' †' : '');

/** A paragraph for below a table, empty if all requests of its rows were answered. */
export const refusalNote = (rows) => {
  const sum = (measure) => rows.reduce((total, row) => total + row[measure], 0);
  const [requests, refused, other] = ['requests', 'refused', 'other'].map(sum);
  const notes = [
    ...(refused > 0 ? [`† ${count(refused)} of ${count(requests)} requests were refused (503 or 429)`] : []),
    ...(other > 0 ? [`${count(other)} of ${count(requests)} failed otherwise`] : []),
  ];
  if (notes.length === 0) return '';
  return `\n\n${notes.join('; ')}. Only what was answered (2xx) counts in rates, latencies and CPU time per answer.`;
};

const commit = () => spawnSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).stdout.trim();

/** Where, when and by which command something was measured, in a line. */
export const circumstances = (databaseVersion) => {
  const processors = cpus();
  const words = process.argv.slice(2).map((word) => (word.includes(' ') ? `'${word}'` : word));
  return [
    `\`${['npm run bench', ...(words.length > 0 ? ['--', ...words] : [])].join(' ')}\``,
    new Date().toISOString().slice(0, 10),
    `commit ${commit()}`,
    `${processors.length} × ${processors[0].model.trim()}`,
    `Node ${process.versions.node}`,
    databaseVersion === undefined ? 'SQLite' : `MariaDB ${databaseVersion.replace(/-.*/, '')}`,
  ].join(' · ');
};

/** Puts a section into RESULTS.md in place of the one with this heading, else at the end. */
export const writeSection = (heading, text) => {
  const before = existsSync(RESULTS) ? readFileSync(RESULTS, 'utf8') : '# Results of the bench\n';
  const sections = before.split(/^(?=## )/m);
  const section = `## ${heading}\n\n${text.trim()}\n\n`;
  const index = sections.findIndex((one) => one.startsWith(`## ${heading}\n`));
  if (index === -1) sections.push(section);
  else sections[index] = section;
  writeFileSync(RESULTS, `${sections.map((one) => one.trim()).join('\n\n')}\n`);
};
