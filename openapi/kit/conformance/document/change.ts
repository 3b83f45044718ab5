/** A difference between the document of a client and the current one. */
export interface Change {
  /** The id of the operation, or `event`, a message to webhooks; `the document` for all. */
  operation: string;
  /** The former rule, and the current one. */
  expected: string;
  came: string;
  /** Where in the request or the reply: `the request /json/limit`, `200 /result/data/json/items/*`. */
  where: string;
  /** Whether a client may fail by it; else it is but new. */
  breaks: boolean;
  /** Where in the document it is: one change there may concern many operations. */
  node: string;
  /** The words that a request may not have any more, or a reply may newly, or not, have; undefined where the change is about more than some words. */
  words?: readonly string[];
  /** Whether a member of a reply may be missing. */
  absent?: true;
  /** Whether the request needs more than before: who does not send what is named fails, too. */
  demands?: true;
  /** Set where the comparison cannot tell whether a client fails by it. */
  unsure?: true;
  /** The limit of a request that is narrower than before: who sends what satisfies it does not fail. */
  limit?: { name: string; value: number };
  /** A reason that no longer comes, or comes otherwise: who handles it may not handle that. */
  reason?: string;
  /** The reasons of the failures that it is about: who handles none of them is not concerned. */
  failures?: readonly string[];
}

/** Which way values go: a client must be understood in what it sends, and understand what it gets. */
export type Direction = 'request' | 'reply';

/** A difference of two schemas. */
export type Difference = Omit<Change, 'operation' | 'where' | 'node'> & {
  /** The member that it is about, where it is about one. */
  name?: string;
  /** Whether it is about a member of a reply that could be missing before. */
  isOptional?: boolean;
};

/** The text for a part that is gone. */
export const NOTHING = 'nothing';

/** Tells what is gone, what is new, and how what is in both differs, by its name. */
export const byName = <T, D>(
  before: ReadonlyMap<string, T>,
  now: ReadonlyMap<string, T>,
  gone: (name: string, one: T) => D[],
  fresh: (name: string, one: T) => D[],
  both: (one: T, other: T, name: string) => D[],
): D[] =>
  [...new Set([...before.keys(), ...now.keys()])].flatMap((name) => {
    const [one, other] = [before.get(name), now.get(name)];
    if (other === undefined) return one === undefined ? [] : gone(name, one);
    return one === undefined ? fresh(name, other) : both(one, other, name);
  });
