import type { Issue } from '../../../../contract/index.ts';
import { type Check, checkOf, once } from '../check.ts';
import type { Reply } from '../exchange.ts';
import { demand, expectFailure } from '../findings/expect.ts';
import { faultyBody, faultsOf, roundsOf } from '../contract/faults.ts';
import { type Finding, show } from '../findings/finding.ts';
import type { Operation } from '../contract/operation.ts';
import type { VerifySession } from '../session.ts';

const AT = '/error/json/data/issues';

const isSame = (a: Issue, b: Issue): boolean => a.path === b.path && a.code === b.code;
const wordsOf = ({ path, code }: Issue): string => `${show(code)} at ${show(path)}`;

const isPointer = ({ path }: Issue): boolean => path === '' || path.startsWith('/');

/** The fault in the issues of a reply as a whole, if any. */
const ailmentOf = (came: readonly Issue[]): string | undefined => {
  if (came.length === 0) return 'no issues at all';
  return came.every(isPointer) ? undefined : 'issues whose paths are no JSON pointers';
};

/** Issues that a reply lacks. */
const lacking = (expected: readonly Issue[], came: readonly Issue[]): Finding[] => {
  const cause = ailmentOf(came);
  return expected
    .filter((issue) => !came.some((other) => isSame(issue, other)))
    .map((issue) => {
      const there = came.filter(({ path }) => path === issue.path).map(wordsOf);
      const others =
        cause === undefined ? 'none there' : (came.filter((one) => !isPointer(one)).map(wordsOf)[0] ?? 'none at all');
      const finding = { expected: `an issue ${wordsOf(issue)}`, came: there.join(', ') || others, at: AT };
      return cause === undefined ? finding : { ...finding, cause };
    });
};

/** A check for each rule of the input: the contract gives the issues of its breach, and the reply must have them. */
export const inputChecks = (operation: Operation, session: VerifySession): Check[] => {
  const body = { json: session.records.marked(operation.example.input) };
  const rounds = roundsOf(faultsOf(operation)).map((round) => {
    const issues = async (): Promise<{ reply: Reply; came: Issue[] }> => {
      const reply = await session.send(operation, { body: JSON.stringify(faultyBody(body, round)) });
      const data = expectFailure(reply, 'VALIDATION_FAILED', operation.id);
      return { reply, came: data.issues ?? [] };
    };
    return { faults: round, answer: once(issues) };
  });
  const check = (name: string, run: () => Promise<void>): Check => checkOf(operation, 'VALIDATION_FAILED', name, run);
  return [
    ...rounds.flatMap(({ faults, answer }) =>
      faults.map(({ name, issues }) =>
        check(`refuses ${name}`, async () => {
          const { reply, came } = await answer();
          demand(reply, lacking(issues, came));
        }),
      ),
    ),
    check('finds no fault where there is none', async () => {
      for (const { faults, answer } of rounds) {
        const { reply, came } = await answer();
        const expected = faults.flatMap(({ issues }) => issues);
        const surplus = came.filter((issue) => !expected.some((other) => isSame(issue, other)));
        demand(
          reply,
          surplus.map((issue) => {
            const finding = { expected: 'no other issue', came: wordsOf(issue), at: AT };
            const cause = ailmentOf(came);
            return cause === undefined ? finding : { ...finding, cause };
          }),
        );
      }
    }),
  ];
};
