import { groupsOf } from '../findings/groups.ts';
import type { VerifyRun } from '../verify.ts';
import { countOf, replayOf, skipsOf } from './text.ts';

/** The facts of a run besides its results. */
export interface RunFacts {
  key: string | undefined;
  seed: number;
  readOnly: boolean;
  seconds: number;
  /** The number of remaining records; null if unknown. */
  left: number | null;
}

/**
 * The results as one JSON value. Versions may add members:
 * - `baseUrl`, `seed`, `run` (in the titles of its records), `readOnly`, `seconds`
 * - `checks`, `passed`, `failed`, `skipped`: numbers
 * - `findings`: one for each fault: `expected`, `came`, `at` (a JSON pointer into the reply, or null), `request`
 *   (`id`, `operation`, `method`, `url`; or null), `replay` (a shell command, or null), `shownBy` (`operation`, `name`)
 * - `skips`: `reason`, `checks` (their number), `operations`
 * - `results`: one for each check: `operation`, `name`, `outcome` (`passed`, `failed`, `skipped`), `ms`
 * - `changes`: unknown to a client of `--document`, or of this contract: `operation`, `where`, `expected`, `came`,
 *   `breaks`
 * - `records`: `made`, and `left`, the remaining ones (null if unknown)
 */
export const jsonOf = (run: VerifyRun, { key, seed, readOnly, seconds, left }: RunFacts): string => {
  const { results, baseUrl, name, changes, made } = run;
  return JSON.stringify({
    baseUrl,
    seed,
    run: name,
    readOnly,
    seconds: Number(seconds.toFixed(3)),
    checks: results.length,
    passed: countOf(results, 'passed'),
    failed: countOf(results, 'failed'),
    skipped: countOf(results, 'skipped'),
    findings: groupsOf(results).map(({ finding, places }) => {
      const { expected, came, at = null, exchange } = finding;
      return {
        expected,
        came,
        at,
        request: exchange
          ? {
              id: exchange.requestId,
              operation: exchange.subject,
              method: exchange.request.method,
              url: exchange.request.url,
            }
          : null,
        replay: replayOf(finding, key) ?? null,
        shownBy: places.map((place) => ({ operation: place.subject, name: place.name })),
      };
    }),
    skips: skipsOf(results),
    results: results.map(({ subject, name: check, outcome, ms }) => ({
      operation: subject,
      name: check,
      outcome,
      ms: Number(ms.toFixed(3)),
    })),
    changes,
    records: { made, left },
  });
};
