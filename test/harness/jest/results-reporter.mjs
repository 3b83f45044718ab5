/**
 * Prints what the tests have seen of each fault as one table, and writes it into test/fault/RESULTS.md when UPDATE_RESULTS is
 * set. Rows of what this run did not see stay there: other files or databases, Vitess. Jest loads reporters untransformed,
 * therefore plain JavaScript.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { markdownTable } from '../markdown-table.mjs';

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

const tableOf = (rows) =>
  markdownTable(
    columns.map(([name]) => name),
    rows,
  );

const rowOf = (result) => columns.map(([, cell]) => cell(result));

/** The rows of a table that have this many columns, without its head. */
const rowsIn = (text) =>
  [...text.matchAll(/^\| (.*) \|$/gm)]
    .map(([, line]) => line.split(' | ').map((cell) => cell.trim()))
    .filter((row) => row.length === columns.length)
    .slice(2);

const keyOf = ([fault, database]) => `${fault} ${database}`;

/** All rows by key; the later ones hold. */
const inOrder = (rows) =>
  [...new Map(rows.map((row) => [keyOf(row), row])).values()].toSorted((a, b) => keyOf(a).localeCompare(keyOf(b)));

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
    const seen = inOrder(lines.map((line) => rowOf(JSON.parse(line))));
    process.stderr.write(`\nWhat was seen of each fault:\n${tableOf(seen)}\n`);
    if (process.env.UPDATE_RESULTS !== 'true') return;
    const [before, rest = ''] = readFileSync(FILE, 'utf8').split(BEGIN);
    const [written, after = ''] = rest.split(END);
    const table = tableOf(inOrder([...rowsIn(written), ...seen]));
    writeFileSync(FILE, `${before}${BEGIN}\n\n${table}\n\n${END}${after}`);
  }
}
