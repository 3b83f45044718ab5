// The tables that the test of the SDKs prints.

/** Prints rows of equal members as a table. */
export const printTable = (rows) => {
  const names = Object.keys(rows[0]);
  const cells = [names, ...rows.map((row) => names.map((name) => String(row[name])))];
  const widths = names.map((_, column) => Math.max(...cells.map((line) => line[column].length)));
  for (const line of cells)
    console.log(
      line
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    );
};

const cellOf = ({ found, skipped }) => {
  if (found.length > 0) return 'FAILED';
  return skipped ? '-' : 'ok';
};

/** Prints which SDK passes which vector. `runs` are `{run, results}`, the results as `compareRun` returns them. */
export const printMatrix = (runs) => {
  if (runs.length === 0) return;
  console.log();
  printTable(
    runs[0].results.map(({ name }, index) => ({
      vector: name,
      ...Object.fromEntries(runs.map(({ run, results }) => [run, cellOf(results[index])])),
    })),
  );
  for (const { run, results } of runs)
    for (const { name, found } of results) for (const text of found) console.log(`!!! ${run}, ${name}: ${text}`);
  console.log();
  for (const { run, results } of runs) {
    const count = (cell) => results.filter((result) => cellOf(result) === cell).length;
    const skipped = results.find((result) => result.skipped)?.skipped;
    const left = skipped ? `, ${count('-')} left out: ${skipped}` : '';
    console.log(`${run}: ${count('ok')} of ${results.length} vectors${left}`);
  }
};
