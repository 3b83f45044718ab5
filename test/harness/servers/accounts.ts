import { readFileSync } from 'node:fs';

/** The statements of the guide that make the accounts `gateway` and `migrator`, for a database and under other names. */
export const accountsOfTheGuide = (database: string, nameOf: (account: string) => string): string[] => {
  const guide = readFileSync('docs/operators.md', 'utf8');
  return [...guide.matchAll(/^(?:CREATE USER|GRANT) [^;]+/gm)].map(([sql]) =>
    sql.replace(/\bcontent\./, `${database}.`).replaceAll(/\b(?:gateway|migrator)\b/g, nameOf),
  );
};
