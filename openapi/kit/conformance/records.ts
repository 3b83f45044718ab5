import { setTimeout as sleep } from 'node:timers/promises';
import type { Contract, OutputOf, Reason } from '../../../contract/index.ts';
import type { Calls } from './calls.ts';
import type { Operation } from './contract/operation.ts';
import { Skip } from './findings/finding.ts';
import type { OwnThings } from './own-things.ts';

/** A game or an image post. */
export type Content = OutputOf<Contract['game']['getById'] | Contract['image']['getById']>;
/** A page of either kind. */
export type ListedPage = OutputOf<Contract['game']['list'] | Contract['image']['list']>;
/** A record as either list shows it. */
export type RecordSummary = ListedPage['items'][number];
export type CurrentUser = OutputOf<Contract['user']['me']>;

type Input = Readonly<Record<string, unknown>>;

export const idsOf = (records: readonly Pick<Content, 'id'>[]): string[] => records.map(({ id }) => id);

/** The tag of every record that the kit makes. */
export const TAG = 'verify';
/** The prefix of the titles of all records that the kit makes. */
const MARK = `[${TAG} `;
/** Whether a run of the kit made a record. */
export const isMarked = ({ title }: Pick<RecordSummary, 'title'>): boolean => title.startsWith(MARK);
/** How long another run may take to restore the profile that both change. */
const OCCUPIED_MS = 15_000;
const PAUSE_MS = 100;
/** The number of latest records from which samples are taken. */
const SAMPLED = 100;

/** The records and the user for the calls of a run. */
export class Records {
  readonly #calls: Calls;
  readonly #run: string;
  readonly #things: OwnThings;
  readonly #records = new Map<string, Promise<Content>>();
  readonly #samples = new Map<string, Promise<RecordSummary[]>>();
  #isOccupied = false;

  constructor(calls: Calls, run: string, things: OwnThings) {
    this.#calls = calls;
    this.#run = run;
    this.#things = things;
  }

  /** The title of a record of this run. */
  title(title: string): string {
    return `${MARK}${this.#run}] ${title}`;
  }

  /** A query for the records of this run, by a word of their titles. */
  query(word = ''): { page: number; search: string; tagSlugs: string[] } {
    return { page: 1, search: `${this.#run} ${word}`.trim(), tagSlugs: [TAG] };
  }

  /** An input with a mark in the title and the tags of its records, at any depth. */
  marked<T>(input: T): T {
    if (Array.isArray(input)) return input.map((item: unknown) => this.marked(item)) as T;
    if (typeof input !== 'object' || input === null) return input;
    const members = Object.fromEntries(
      Object.entries(input).map(([name, value]) => [name, this.marked<unknown>(value)]),
    );
    const { title, tagNames = [] } = members;
    if (typeof title !== 'string') return members as T;
    return { ...members, title: this.title(title), tagNames: [...(tagNames as string[]), TAG] } as T;
  }

  /** The input of a batch of records with these titles. */
  batch({ example }: Operation, titles: readonly string[]): Input {
    const [[member, items] = ['', []]] = Object.entries(example.input);
    const [item] = items as Input[];
    return { [member]: titles.map((title) => this.marked({ ...item, title })) };
  }

  /** Publishes a record of our own, for a check of something else. @throws Skip */
  async publish(operation: Operation, changes: Input = {}): Promise<Content> {
    const create = this.#publisher(operation, 'create');
    return this.#calls.prepare<Content>(create, this.marked({ ...create.example.input, ...changes }));
  }

  /** Publishes records of our own with these titles, for a check of something else. @throws Skip */
  async publishAll(operation: Operation, titles: readonly string[]): Promise<Content[]> {
    const create = this.#publisher(operation, 'batchCreate');
    return (await this.#calls.prepare<{ items: Content[] }>(create, this.batch(create, titles))).items;
  }

  /** Whether the run publishes records of an operation's router. */
  publishes({ router }: Operation): boolean {
    return this.#calls.operations.some((one) => one.id === `${router}.create` && this.#calls.can(one.access));
  }

  /** A record to read: our own or, without a key to publish one, the first of the list. @throws Skip */
  record(operation: Operation): Promise<Content> {
    const { router } = operation;
    const find = async (): Promise<Content> =>
      this.publishes(operation) ? this.publish(operation) : ((await this.samples(operation))[0] as Content);
    const record = this.#records.get(router) ?? find();
    this.#records.set(router, record);
    return record;
  }

  /**
   * Records of the router, those of others before an own one: the first, the middle and the last of the latest in the
   * list. Records of other runs are used only without others, since they may vanish.
   * @throws Skip if none exist
   */
  async samples(operation: Operation): Promise<RecordSummary[]> {
    const { router } = operation;
    const found = this.#samples.get(router) ?? this.#findSamples(operation);
    this.#samples.set(router, found);
    const samples = await found;
    if (samples.length === 0) throw new Skip('there is no record to read');
    return samples;
  }

  /** The authors of samples of all lists. @throws Skip if none exist */
  async authors(): Promise<RecordSummary['author'][]> {
    const authors = new Map<string, RecordSummary['author']>();
    for (const list of this.#calls.lists) {
      for (const { author } of await this.samples(list).catch(() => [])) authors.set(author.id, author);
    }
    if (authors.size === 0) throw new Skip('there is no user to read');
    return [...authors.values()];
  }

  /** The user of the key, when no other run changes the profile. @throws Skip */
  async me(): Promise<CurrentUser> {
    // An empty change also returns the user.
    const reader = this.#calls.operations.find(
      ({ id, access }) => /^user\.(me|updateProfile)$/.test(id) && this.#calls.can(access),
    );
    if (!reader) throw new Skip('it needs a key with user:read or user:write');
    for (const deadline = Date.now() + (this.#isOccupied ? 0 : OCCUPIED_MS); ; await sleep(PAUSE_MS)) {
      const me = await this.#calls.prepare<CurrentUser>(reader, {});
      const isOccupied = Object.values(me).some((value) => typeof value === 'string' && value.startsWith(MARK));
      if (!isOccupied) return me;
      this.#isOccupied = Date.now() >= deadline;
      if (this.#isOccupied) throw new Skip('the profile is as a run of verify writes it that goes on, or was stopped');
    }
  }

  /**
   * The example's input as valid here: with the id of an existing record, under a title of our own, and without
   * changing the caller's data. A record to delete is a new one.
   * @throws Skip
   */
  async input(operation: Operation): Promise<Input> {
    const { example, idMember, notFound, laws } = operation;
    if (laws.includes('deletes')) return this.inputOfOwn(operation);
    const marked = this.marked(example.input);
    const thing = await this.#things.inputFor(operation);
    if (thing) return { ...marked, ...thing };
    if (idMember !== undefined && notFound) return { ...marked, [idMember]: await this.#idOf(notFound) };
    if (!laws.includes('restores')) return marked;
    const me = await this.me();
    return Object.fromEntries(Object.keys(marked).map((name) => [name, me[name as keyof CurrentUser]]));
  }

  /** The same, with a record or a thing that nothing else in the run uses, if the operation takes one. @throws Skip */
  async inputOfOwn(operation: Operation): Promise<Input> {
    const { example, idMember, notFound, name } = operation;
    if (idMember === undefined || !notFound) return this.input(operation);
    const thing = await this.#things.inputFor(operation);
    const own = thing ?? { [idMember]: (await this.publish(operation, { title: name })).id };
    return { ...this.marked(example.input), ...own };
  }

  /** @throws Skip if the key may not publish */
  #publisher(operation: Operation, name: string): Operation {
    const publisher = this.#calls.partner(operation, name);
    const lack = this.#calls.missingScopes(publisher.needs);
    if (lack !== undefined) throw new Skip(lack);
    return publisher;
  }

  async #findSamples(operation: Operation): Promise<RecordSummary[]> {
    const list = this.#calls.partner(operation, 'list');
    const latest = async (more: object): Promise<RecordSummary[]> =>
      (await this.#calls.prepare<ListedPage>(list, { limit: SAMPLED, page: 1, ...more })).items;
    const isOther = (record: RecordSummary): boolean => !isMarked(record);
    const items = await latest({});
    // Many runs may have published since others did, but few readers view their records.
    const viewed = items.some(isOther) ? [] : await latest({ sortBy: 'views' });
    const others = [...items, ...viewed].filter(isOther);
    const from = others.length > 0 ? others : items;
    const places = new Set([0, Math.floor(from.length / 2), from.length - 1]);
    const own = this.publishes(operation) ? await this.record(operation) : undefined;
    return [...[...places].flatMap((place) => from[place] ?? []), ...(own ? [own as RecordSummary] : [])];
  }

  /** The id of a record, or of a user, by the reason for its absence. @throws Skip */
  async #idOf(notFound: Reason): Promise<string> {
    const { lists, operations } = this.#calls;
    const owner = operations.find(({ reasons }) => reasons.includes(notFound));
    const list = lists.find(({ router }) => router === owner?.router);
    if (list) return (await this.record(list)).id;
    const [any] = lists;
    if (!any) throw new Skip('there is no user to read');
    return (await this.record(any)).author.id;
  }
}
