/**
 * Prints what the tests have seen of each fault as one table, and writes it into test/fault/RESULTS.md when
 * UPDATE_RESULTS is set. Jest loads reporters untransformed, therefore plain JavaScript.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const FILE = 'test/fault/RESULTS.md';
const [BEGIN, END] = ['<!-- what follows is written by the tests -->', '<!-- end of what the tests write -->'];

const columns = [
  ['Fault', ({ fault }) => fault],
  ['Database', ({ engine }) => ({ sqlite: 'SQLite', mariadb: 'MariaDB', mysql: 'MySQL', vitess: 'Vitess' })[engine]],
  ['Rounds', ({ rounds }) => String(rounds)],
  ['Load', ({ load }) => load],
  ['Acknowledged', ({ acknowledged }) => String(acknowledged)],
  ['Lost', ({ lost }) => String(lost)],
  ['Doubled', ({ duplicated }) => String(duplicated)],
  ['Longest outage', ({ longestOutageMs }) => (longestOutageMs === undefined ? '' : `${longestOutageMs} ms`)],
  ['Seen', ({ seen = '' }) => seen],
];

const tableOf = (results) => {
  const rows = results.map((result) => columns.map(([, cell]) => cell(result)));
  const widths = columns.map(([name], n) => Math.max(name.length, ...rows.map((row) => row[n].length)));
  const line = (cells) => `| ${cells.map((cell, n) => cell.padEnd(widths[n])).join(' | ')} |`;
  return [
    line(columns.map(([name]) => name)),
    `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`,
    ...rows.map(line),
  ].join('\n');
};

export default class ResultsReporter {
  onRunStart() {
    // The workers, which are started later, inherit it.
    process.env.FAULT_RESULTS = join(mkdtempSync(join(tmpdir(), 'content-gateway-faults-')), 'results');
  }

  onRunComplete() {
    const file = process.env.FAULT_RESULTS;
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    rmSync(dirname(file), { recursive: true });
    if (lines.length === 0) return;
    const order = (one) => `${one.fault} ${one.engine}`;
    const results = lines.map((line) => JSON.parse(line));
    const table = tableOf(results.toSorted((a, b) => order(a).localeCompare(order(b))));
    process.stderr.write(`\nWhat was seen of each fault:\n${table}\n`);
    if (process.env.UPDATE_RESULTS !== 'true') return;
    const [before, rest = ''] = readFileSync(FILE, 'utf8').split(BEGIN);
    const [, after = ''] = rest.split(END);
    writeFileSync(FILE, `${before}${BEGIN}\n\n${table}\n\n${END}${after}`);
  }
}
