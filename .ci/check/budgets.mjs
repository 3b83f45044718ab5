// The seconds of the processor that each step may take: the table of README.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { markdownTable } from '../../test/harness/markdown-table.mjs';

const FILE = new URL('README.md', import.meta.url);
const [BEGIN, END] = ['<!-- what follows is written by .ci/run -->', '<!-- end of what .ci/run writes -->'];

const parts = () => {
  const [before, rest] = readFileSync(FILE, 'utf8').split(BEGIN);
  const [table, after] = rest.split(END);
  return { before, table, after };
};

/** What each step may take, by its name. */
const budgets = new Map(
  parts()
    .table.split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, name, , seconds]) => [name, Number(seconds)])
    .filter(([, seconds]) => !Number.isNaN(seconds)),
);

/** Of a shorter step, a fraction of a second changes the quotient. In seconds of the processor. */
const LEAST_COMPARED = 10;

/** How many times their budgets the steps of a check took, the median, and 1 at least: others at the same cores slow all of them. */
const slownessOf = (taken) => {
  const quotients = taken
    .filter(({ name }) => budgets.get(name) >= LEAST_COMPARED)
    .map(({ name, used }) => used / budgets.get(name));
  return Math.max(1, quotients.toSorted((a, b) => a - b)[Math.floor(quotients.length / 2)] ?? 1);
};

/**
 * Why the time that a step took, in seconds of the processor of the reference machine, is too much beside that of all steps of the
 * check, `{name, used}`; undefined where it is not.
 */
export const overspent = (name, seconds, taken) => {
  const budget = budgets.get(name);
  if (budget === undefined) return 'It has no budget. Measure it with: UPDATE_STEPS=true bash .ci/run';
  const allowed = budget * slownessOf(taken);
  // Where nothing was changed, machines that others share took up to a third more; short steps, up to twice as much.
  return seconds > Math.max(allowed * 1.5, allowed + 10)
    ? `It took ${seconds.toFixed(0)} s of the processor, and outgrew its budget of ${allowed.toFixed(0)} s here by more than half.`
    : undefined;
};

/** Writes what the steps took, `{name, proves, used}`; a step that did not run keeps its figure. */
export const writeBudgets = (steps) => {
  const figures = steps.map(({ name, used }) => (used === undefined ? (budgets.get(name) ?? 0) : Math.round(used)));
  const all = figures.reduce((sum, figure) => sum + figure, 0);
  const rows = steps.map(({ name, proves }, n) => [
    name,
    proves,
    String(figures[n]),
    `${((100 * figures[n]) / all).toFixed(0)}%`,
  ]);
  const { before, after } = parts();
  const table = markdownTable(['Step', 'What it proves', 'Seconds of the processor', 'Share'], rows);
  writeFileSync(FILE, `${before}${BEGIN}\n\n${table}\n\n${END}${after}`);
};
