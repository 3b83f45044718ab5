/** What the docblock of a test file says. */
export interface TestFile {
  path: string;
  engines: string[];
  tier: string;
  /** The tier on MariaDB and MySQL. */
  serverTier: string;
  needs: string[];
  skips: { path: string; test: string | undefined; reason: string }[];
}

export const tests: readonly TestFile[];
