import type { Change } from '../conformance/document/change.ts';
import { DOCUMENT_ITSELF } from '../conformance/document/compare.ts';
import type { ConsumerContract, Need } from '../../../contract/consumer-contract.ts';
import { satisfies } from './extremes.ts';
import type { NamedUse } from './uses.ts';

/** A consumer that a change breaks, by its recorded uses, or by its contract. */
export interface AffectedConsumer {
  /** `key <id>`, `client <name>`, or the name of a contract. */
  consumer: string;
  /** The user who published the contract; undefined for a contract in a file. */
  userId?: string;
  /** The key of a use; undefined for anonymous callers. */
  key?: NamedUse['key'];
  /** The clients of a use. */
  clients?: string[];
  /** The last day of a use. */
  lastDay?: string;
  /** The tests of a contract that fail. */
  tests?: string[];
  /** The changed parts that it uses: `/sortBy=views`; none for the operation itself. */
  parts: string[];
  /** Set if it is unknown whether it uses any. */
  maybe?: true;
}

/** A change that may break clients, and the consumers that it breaks. */
export interface Impact extends Change {
  affected: AffectedConsumer[];
  /** Whether it affects all consumers. */
  concernsAll?: true;
  /** Clients of anonymous callers that it would break. They do not count: a caller can name any client. */
  anonymous: AffectedConsumer[];
}

/** A contract from a file, or one that a user has published. */
type KnownContract = ConsumerContract & { userId?: string };

/** Consumers, by the uses of a deployment and by their contracts. */
export interface Consumers {
  uses?: readonly NamedUse[];
  /** Read one by one: all together may exceed the memory. */
  contracts?: Iterable<KnownContract> | AsyncIterable<KnownContract>;
}

const INPUT = 'the request /json';
const META = 'the request /meta';
const OUTPUT = '200 /result/data/json';
/** The member that all clients read of a failure that they handle. */
const REASON = '/error/json/data/reason';
const STREAMED = 'each message /json';
const MESSAGE = 'the request ';

/** The place of a change in the input or the output; undefined for any other change. */
const placeIn = ({ where }: Change, side: string): string | undefined =>
  where === side || where.startsWith(`${side}/`) ? where.slice(side.length) : undefined;

/** Whether a change is about a message to webhooks: `webhook.message.event`. */
const isOfMessage = ({ operation }: Change): boolean => /^webhook\.\w+\.\w+$/.test(operation);

/** Whether it is about the document itself, and so about all clients. */
const isOfDocument = ({ operation }: Change): boolean => operation === DOCUMENT_ITSELF;

/** The operations that manage webhooks: a caller of these may get any message. */
const isOnWebhooks = ({ operation }: { operation: string }): boolean => /^webhook\.\w+$/.test(operation);

/** The place of a change in the data that a consumer gets: an output, an event of a stream or a message. */
const outputPlace = (change: Change): string | undefined =>
  isOfMessage(change) ? placeIn(change, MESSAGE) : (placeIn(change, OUTPUT) ?? placeIn(change, STREAMED));

/** Elements of arrays are not parts: a caller that sends the array is taken to send some. */
const memberOf = (place: string): string => place.replace(/(?:\/\*)+$/, '');

const isWithin = (pointer: string, place: string): boolean => pointer === place || pointer.startsWith(`${place}/`);

/** The given parts that a request with a change refuses; undefined if it refuses none of them. */
const refusedParts = (change: Change, place: string, sent: readonly string[]): string[] | undefined => {
  const member = memberOf(place);
  if (change.words) {
    const words = change.words.map((word) => `${place}=${word}`);
    const used = sent.filter((part) => words.includes(part));
    return used.length > 0 ? used : undefined;
  }
  if (member === '') return [];
  return sent.includes(member) ? [member] : undefined;
};

/** Clients must expect new words, and few wait for one. */
const isOfWordsOfReply = (change: Change): boolean => change.words !== undefined && outputPlace(change) !== undefined;

const affectedUse = (change: Change, { consumer, key, clients, operations }: NamedUse): AffectedConsumer[] => {
  const receives = isOfMessage(change) && operations.find(isOnWebhooks);
  if (receives) {
    const { lastDay } = receives;
    return [
      { consumer, ...(key && { key }), clients: clients.map(({ name }) => name), lastDay, parts: [], maybe: true },
    ];
  }
  const operation = operations.find((one) => one.operation === change.operation);
  // Uses do not record which reasons a caller handles.
  if (!operation || change.reason !== undefined || isOfWordsOfReply(change)) return [];
  const { parts, lastDay } = operation;
  const place = change.demands ? undefined : placeIn(change, INPUT);
  const sent = parts.map(({ name }) => name);
  const refused = place === undefined ? [] : refusedParts(change, place, sent);
  if (!refused) return [];
  const days = parts.filter(({ name }) => refused.includes(name)).map((part) => part.lastDay);
  return [
    {
      consumer,
      ...(key && { key }),
      clients: clients.map(({ name }) => name),
      lastDay: days.toSorted().at(-1) ?? lastDay,
      parts: refused,
    },
  ];
};

/** Whether a call that sends these parts lacks a newly required member: it sends the object around that member. */
const lacks = (place: string, sent: readonly string[]): boolean => {
  const holder = memberOf(place.slice(0, place.lastIndexOf('/')));
  return !sent.includes(place) && (holder === '' || sent.includes(holder));
};

/** Whether a place is in a member that is read without naming anything within it: then all of it is read. */
const isWhole = (pointer: string, reads: readonly string[], place: string): boolean =>
  isWithin(place, pointer) && !reads.some((other) => other !== pointer && isWithin(other, pointer));

/**
 * Whether contracts do not record the changed part: parts of a failure except the reason, or of a request beside the
 * input.
 */
const isUnrecorded = (change: Change): boolean => {
  if (placeIn(change, META) !== undefined) return true;
  const [, place] = /^[45]\d\d (\/.*)$/.exec(change.where) ?? [];
  return place !== undefined && !isWithin(REASON, place);
};

/** The parts that a need loses by a change; undefined if it loses nothing. */
const lostParts = (change: Change, need: Need): string[] | undefined => {
  const { sends, extremes = {}, reads, requires = [], decodes, reasons } = need;
  if (change.failures && !change.failures.some((reason) => reasons.includes(reason))) return undefined;
  if (change.reason !== undefined) return reasons.includes(change.reason) ? [change.reason] : undefined;
  const sent = placeIn(change, INPUT);
  if (sent !== undefined && change.demands) return sent === '' || lacks(sent, sends) ? [] : undefined;
  if (sent !== undefined && satisfies(extremes[sent] ?? [], change.limit)) return undefined;
  if (sent !== undefined) return refusedParts(change, sent, sends);
  // The service refused all of its calls.
  if (reads?.length === 0 && requires.length === 0 && !decodes && reasons.length > 0 && /^2\d\d\b/.test(change.where))
    return undefined;
  const answered = outputPlace(change);
  if (answered === undefined) return [];
  if (!reads) return [];
  const lost = [
    ...reads.filter((pointer) => isWithin(pointer, answered) || isWhole(pointer, reads, answered)),
    // Such a member may have another type; the object around it may not.
    ...requires.filter((pointer) => isWithin(pointer, answered) && (change.absent || pointer !== answered)),
  ];
  if (lost.length > 0) return [...new Set(lost)];
  // For decoding, new words are text.
  return decodes && !change.words ? [answered] : undefined;
};

const affectedContract = (change: Change, { consumer, userId, needs }: KnownContract): AffectedConsumer[] => {
  const own = needs.filter(({ operation }) => operation === change.operation);
  if (own.length === 0 && isOfMessage(change) && needs.some(isOnWebhooks)) {
    return [{ consumer, ...(userId !== undefined && { userId }), parts: [], maybe: true }];
  }
  const lost = own.flatMap((need) => {
    const parts = lostParts(change, need);
    return parts ? [{ test: need.test, parts }] : [];
  });
  if (lost.length === 0) return [];
  const tests = lost.flatMap(({ test }) => test ?? []);
  const parts = [...new Set(lost.flatMap((one) => one.parts))];
  const maybe = isUnrecorded(change) && { maybe: true as const };
  return [{ consumer, ...(userId !== undefined && { userId }), tests: [...new Set(tests)], parts, ...maybe }];
};

/** Uses by anonymous callers have the name of a client. */
const isAnonymous = ({ consumer }: NamedUse): boolean => consumer.startsWith('client ');

/**
 * A change that may break clients, the consumers whose contracts it breaks, and the users whose contracts record reads.
 */
interface Judged {
  change: Change;
  byContract: AffectedConsumer[];
  said: Set<string | undefined>;
}

/** The changes that may break clients, each of them once in `judged`. */
const judgedAmong = (changes: readonly Change[], judged: Map<string, Judged>): Judged[] =>
  changes
    .filter(({ breaks, unsure, reason }) => breaks || unsure || reason !== undefined)
    .map((change) => {
      const { operation, where, expected, came } = change;
      const name = JSON.stringify([operation, where, expected, came]);
      const one = judged.get(name) ?? { change, byContract: [], said: new Set() };
      judged.set(name, one);
      return one;
    });

/**
 * The changes that may break clients, each with the consumers that it breaks: a consumer breaks if it sends values that
 * the request no longer accepts, omits newly required ones, reads values that the reply no longer holds, or handles a
 * reason that no longer occurs. A use does not record the members read, nor those of each call, so that any such change
 * of an operation that it called breaks it. Contracts that the user of its key has published for the operation name the
 * members read. `names` has all consumers that count. A contract is judged by the changes since the document that it
 * was tested with, if `changesFor` gives these.
 */
export const impactOf = async (
  changes: readonly Change[],
  { uses = [], contracts = [] }: Consumers,
  changesFor: (contract: KnownContract) => readonly Change[] = () => changes,
): Promise<{ impacts: Impact[]; names: string[] }> => {
  const known = uses.filter((use) => !isAnonymous(use));
  const names = new Set(known.map(({ consumer }) => consumer));
  const judged = new Map<string, Judged>();
  const base = judgedAmong(changes, judged);
  for await (const contract of contracts) {
    names.add(contract.consumer);
    const own = changesFor(contract);
    for (const { change, byContract } of own === changes ? base : judgedAmong(own, judged)) {
      byContract.push(...affectedContract(change, contract));
    }
    for (const { change, said } of judged.values()) {
      if (contract.needs.some(({ operation }) => operation === change.operation)) said.add(contract.userId);
    }
  }
  const ofUses = new Set(base);
  return {
    names: [...names],
    impacts: Array.from(judged.values(), (one): Impact => {
      const { change, byContract, said } = one;
      const isSaid = ({ key }: NamedUse) => key && outputPlace(change) !== undefined && said.has(key.userId);
      const byUse = (some: readonly NamedUse[]) =>
        ofUses.has(one) ? some.flatMap((use) => affectedUse(change, use)) : [];
      const concernsAll = isOfDocument(change) && { concernsAll: true as const };
      const affected = [...byUse(known.filter((use) => !isSaid(use))), ...byContract];
      return { ...change, ...concernsAll, affected, anonymous: byUse(uses.filter(isAnonymous)) };
    }),
  };
};

/** Whether an impact is known to break a consumer. */
export const isBroken = ({ breaks, reason, affected }: Impact): boolean =>
  (breaks || reason !== undefined) && affected.some(({ maybe }) => !maybe);

/** Whether an impact may break a consumer, and no comparison can tell. */
export const isUnknown = (impact: Impact): boolean =>
  !isBroken(impact) && (impact.affected.length > 0 || impact.concernsAll === true);
