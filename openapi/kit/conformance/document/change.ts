/** A difference between the document of a client and the current one. */
export interface Change {
  /** The id of the operation; `event` for a message to webhooks; `the document` for all. */
  operation: string;
  /** The former rule, and the current one. */
  expected: string;
  came: string;
  /** The place in the request or the reply: `the request /json/limit`, `200 /result/data/json/items/*`. */
  where: string;
  /** Whether a client may fail by it; else it only adds something. */
  breaks: boolean;
  /** The place in the document: one change there may affect many operations. */
  node: string;
  /** The words that a request loses, or that a reply gains or loses; undefined for a change of more than some words. */
  words?: readonly string[];
  /** Whether a member of a reply may be missing. */
  absent?: true;
  /** Whether the request needs more than before: a client that does not send the named parts also fails. */
  demands?: true;
  /** Set if the comparison cannot tell whether a client fails by it. */
  unsure?: true;
  /** The narrowed limit of a request: a client whose values satisfy it does not fail. */
  limit?: { name: string; value: number };
  /** A reason that replies no longer give, or give in another way: a client may handle the former way only. */
  reason?: string;
  /** The reasons of the failures in question: it does not affect a client that handles none of them. */
  failures?: readonly string[];
}

/** The direction of values: a client sends requests that must be understood, and must understand replies. */
export type Direction = 'request' | 'reply';

/** A difference of two schemas. */
export type Difference = Omit<Change, 'operation' | 'where' | 'node'> & {
  /** The member in question, if any. */
  name?: string;
  /** Whether it concerns a member of a reply that could be missing before. */
  isOptional?: boolean;
};

/** The text for a missing part. */
export const NOTHING = 'nothing';

/** Reports, by name, the parts that are gone, the new ones, and the differences of those in both. */
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
