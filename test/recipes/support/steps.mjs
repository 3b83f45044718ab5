// Steps of a test that is no test of Jest: by name, each an act, of which some can be left out where a tool is lacking.
import { printTable } from '../../clients/sdk/report.mjs';
import { Lacking } from './lacking.mjs';

export const secondsSince = (start) => `${((performance.now() - start) / 1000).toFixed(1)} s`;

/** The names on the command line, or all. Ends the program at one that there is not. `kind` is what they name. */
export const chosenOf = (kind, names) => {
  const chosen = process.argv.slice(2);
  const unknown = chosen.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    console.error(`There is no ${kind} ${unknown}: there are ${names.join(', ')}.`);
    process.exit(2);
  }
  return chosen.length > 0 ? chosen : names;
};

/** Does a step, which returns in few words what it has done. Returns how it went, a row of the table. */
export const doStep = async (kind, name, act) => {
  const start = performance.now();
  const rowOf = (result, what) => ({ [kind]: name, result, time: secondsSince(start), what });
  try {
    return rowOf('ok', (await act()) ?? '');
  } catch (error) {
    const isLacking = error instanceof Lacking;
    console.error(`!!! ${name} ${isLacking ? 'is NOT run' : 'failed'}: ${isLacking ? error.message : error.stack}`);
    return rowOf(isLacking ? 'skipped' : 'FAILED', error.message.split('\n', 1)[0]);
  }
};

/** Prints the table of the rows. Returns how many passed, failed and were skipped. */
export const printRows = (rows) => {
  console.log();
  printTable(rows);
  const count = (wanted) => rows.filter(({ result }) => result === wanted).length;
  return { passed: count('ok'), failed: count('FAILED'), skipped: count('skipped') };
};
