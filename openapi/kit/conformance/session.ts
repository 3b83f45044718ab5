import { setTimeout as sleep } from 'node:timers/promises';
import type { Access, Contract, OutputOf, Reason, Scope } from '../../../contract/index.ts';
import { WITHHELD } from './check.ts';
import type { Client } from './http/client.ts';
import type { Reply, Request } from './exchange.ts';
import { expectSuccess } from './findings/expect.ts';
import { Mismatch, Skip } from './findings/finding.ts';
import type { Operation } from './contract/operation.ts';
import type { ClientDocument } from './document/client-document.ts';
import type { SeededRandom } from './seed.ts';
import type { WebhookReceiver } from './receiver.ts';
import { OwnKeys } from './keys.ts';
import { OwnContract } from './contracts.ts';
import { OwnWebhooks } from './webhooks.ts';

/** A reply that is as the contract says, and the output in it. */
export interface CallAnswer<T> {
  output: T;
  reply: Reply;
}

/** A game or an image post. */
export type Content = OutputOf<Contract['game']['getById'] | Contract['image']['getById']>;
/** A page of either. */
export type ListedPage = OutputOf<Contract['game']['list'] | Contract['image']['list']>;
/** A record as either list shows it. */
export type RecordSummary = ListedPage['items'][number];
export type TypeStats = OutputOf<Contract['game']['getTypeStats']>;
export type CurrentUser = OutputOf<Contract['user']['me']>;
export type UserProfile = OutputOf<Contract['user']['getProfile']>;
export type FoundUsers = OutputOf<Contract['user']['search']>;

type CallInput = Readonly<Record<string, unknown>>;

/** The tag of every record that the kit makes. */
export const TAG = 'verify';

/** The caller of a run. */
export interface VerifyCaller {
  key: string | undefined;
  /** The scopes of the key. */
  scopes: ReadonlySet<Scope>;
  /** A well-formed key that the deployment has not issued. */
  unknownKey: string;
}

/** The prefix of the titles of all records that the kit makes. */
const MARK = `[${TAG} `;
/** How long another run may take to put the profile back that both change. */
const OCCUPIED_MS = 15_000;
const PAUSE_MS = 100;
/** The number of latest records from which samples are taken. */
const SAMPLED = 100;

type SessionParts = Pick<
  VerifySession,
  'operations' | 'client' | 'caller' | 'random' | 'document' | 'clientDocument' | 'readOnly' | 'strict' | 'receiver'
>;

/** One run of the kit on a deployment: its caller, and the records it uses. */
export class VerifySession {
  readonly operations: readonly Operation[];
  readonly caller: VerifyCaller;
  /** The random numbers and the name of the run. */
  readonly random: SeededRandom;
  /** Whether nothing may be changed: operations that write are then called without the key. */
  readonly readOnly: boolean;
  /** Whether the deployment may have nothing that the contract does not know. */
  readonly strict: boolean;
  readonly client: Client;
  /** The OpenAPI document of the contract. */
  readonly document: object;
  /** The document that a client was made from, if one is to be verified against. */
  readonly clientDocument: ClientDocument | undefined;
  /** Where webhooks of the run lead, if it has a receiver of its own. */
  readonly receiver: WebhookReceiver | undefined;
  readonly #records = new Map<string, Promise<Content>>();
  #isOccupied = false;
  /** The webhooks that the run makes. */
  readonly webhooks = new OwnWebhooks(this);
  /** The keys that the run makes. */
  readonly keys = new OwnKeys(this);
  /** The consumer contract that the run publishes. */
  readonly contracts = new OwnContract(this);
  readonly #samples = new Map<string, Promise<RecordSummary[]>>();

  constructor(parts: SessionParts) {
    this.operations = parts.operations;
    this.client = parts.client;
    this.caller = parts.caller;
    this.random = parts.random;
    this.document = parts.document;
    this.clientDocument = parts.clientDocument;
    this.readOnly = parts.readOnly;
    this.strict = parts.strict;
    this.receiver = parts.receiver;
  }

  /** In the title of every record of this run. */
  get run(): string {
    return this.random.run;
  }

  /** Whether the key may, and is to, call operations of this access. */
  can(access: Access): boolean {
    return access === 'public' || (this.caller.scopes.has(access) && !this.isWithheld(access));
  }

  /** Whether a scope is left unused, since operations that need it write. */
  isWithheld(access: Access): boolean {
    return this.readOnly && this.operations.some((one) => one.access === access && one.effect === 'write');
  }

  /** The operation with an id. @throws Skip if there is none */
  operation(id: string): Operation {
    const operation = this.operations.find((one) => one.id === id);
    if (!operation) throw new Skip(`there is no ${id}`);
    return operation;
  }

  /** Why the caller cannot do what takes these scopes; undefined if it can. */
  missingScopes(needs: readonly Scope[]): string | undefined {
    const lacking = needs.filter((scope) => !this.can(scope));
    if (lacking.length === 0) return undefined;
    const isWithheld = this.caller.key !== undefined && lacking.every((scope) => this.isWithheld(scope));
    return isWithheld ? WITHHELD : `it needs a key with ${lacking.join(' and ')}`;
  }

  /** An operation of the same router. */
  sibling({ router }: Operation, name: string): Operation | undefined {
    return this.operations.find((one) => one.router === router && one.name === name);
  }

  /** An operation of the same router, by which to see what this one did. @throws Skip if there is none */
  partner(operation: Operation, name: string): Operation {
    const partner = this.sibling(operation, name);
    if (!partner) throw new Skip(`there is no ${operation.router}.${name} to see it by`);
    return partner;
  }

  /** Sends a request to an operation, with the key unless it is to be anonymous. @throws Mismatch, Skip */
  send(
    { id, path, effect }: Pick<Operation, 'id' | 'path' | 'effect'>,
    { headers, ...request }: Request,
    { anonymous = false } = {},
  ): Promise<Reply> {
    const { key } = this.caller;
    const withKey = key !== undefined && !anonymous && !(this.readOnly && effect === 'write');
    return this.client.send(id, path, {
      ...request,
      headers: {
        ...(request.body !== undefined && { 'Content-Type': 'application/json' }),
        ...(withKey && { Authorization: `Bearer ${key}` }),
        ...headers,
      },
    });
  }

  /** Sends an input to an operation. @throws Mismatch, Skip */
  post(
    operation: Pick<Operation, 'id' | 'path' | 'effect'>,
    json: unknown,
    { headers = {}, anonymous = false }: { headers?: Record<string, string>; anonymous?: boolean } = {},
  ): Promise<Reply> {
    return this.send(operation, { body: JSON.stringify({ json }), headers }, { anonymous });
  }

  /** Sends an input to an operation by tRPC's GET. @throws Mismatch, Skip */
  get(operation: Operation, json: unknown): Promise<Reply> {
    const path = `${operation.path}?input=${encodeURIComponent(JSON.stringify({ json }))}`;
    return this.send({ ...operation, path }, { method: 'GET' });
  }

  /**
   * Calls an operation that has to succeed. `T` is its output by the contract, which the reply is held against.
   * @throws Mismatch, Skip
   */
  async call<T>(
    operation: Operation,
    json: unknown,
    options?: Parameters<VerifySession['post']>[2],
  ): Promise<CallAnswer<T>> {
    const reply = await this.post(operation, json, options);
    return { output: expectSuccess(operation, reply) as T, reply };
  }

  /** Calls an operation for a check of another one. If it does not work, its own checks say so. @throws Skip */
  async prepare<T>(operation: Operation, json: unknown): Promise<T> {
    try {
      return (await this.call<T>(operation, json)).output;
    } catch (error) {
      if (error instanceof Mismatch) throw new Skip(`${operation.id} does not work`, { cause: error });
      throw error;
    }
  }

  /** The title of a record of this run. */
  title(title: string): string {
    return `${MARK}${this.run}] ${title}`;
  }

  /** An input whose records, at any depth, are marked as ours by title and tag. */
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
  batch({ example }: Operation, titles: readonly string[]): CallInput {
    const [[member, items] = ['', []]] = Object.entries(example.input);
    const [item] = items as CallInput[];
    return { [member]: titles.map((title) => this.marked({ ...item, title })) };
  }

  /** Publishes a record of our own, for a check of something else. @throws Skip */
  async publish(operation: Operation, changes: CallInput = {}): Promise<Content> {
    const create = this.#publisher(operation, 'create');
    return this.prepare<Content>(create, this.marked({ ...create.example.input, ...changes }));
  }

  /** Publishes records of our own with these titles, for a check of something else. @throws Skip */
  async publishAll(operation: Operation, titles: readonly string[]): Promise<Content[]> {
    const batchCreate = this.#publisher(operation, 'batchCreate');
    return (await this.prepare<{ items: Content[] }>(batchCreate, this.batch(batchCreate, titles))).items;
  }

  /** A record to read: our own or, without a key to publish one, the first of the list. @throws Skip */
  record(operation: Operation): Promise<Content> {
    const { router } = operation;
    const record = this.#records.get(router) ?? this.#findRecord(operation);
    this.#records.set(router, record);
    return record;
  }

  /**
   * Records of the router, those of others before an own one: the first, one of the middle and the last of the latest in
   * the list; those that other runs made only where there are no others, since they may go away.
   * @throws Skip when there are none
   */
  async samples(operation: Operation): Promise<RecordSummary[]> {
    const { router } = operation;
    const found = this.#samples.get(router) ?? this.#findSamples(operation);
    this.#samples.set(router, found);
    const samples = await found;
    if (samples.length === 0) throw new Skip('there is no record to read');
    return samples;
  }

  /** The lists of records, page by page. */
  get lists(): Operation[] {
    return this.operations.filter(({ name, reasons }) => name === 'list' && reasons.includes('PAGE_TOO_DEEP'));
  }

  /** The authors of samples of all lists. @throws Skip when there are none */
  async authors(): Promise<RecordSummary['author'][]> {
    const authors = new Map<string, RecordSummary['author']>();
    for (const list of this.lists) {
      for (const { author } of await this.samples(list).catch(() => [])) authors.set(author.id, author);
    }
    if (authors.size === 0) throw new Skip('there is no user to read');
    return [...authors.values()];
  }

  /** The user of the key, when no run of the kit is just changing the profile. @throws Skip */
  async me(): Promise<CurrentUser> {
    // A change of nothing answers the user, too.
    const reader = this.operations.find(({ id, access }) => /^user\.(me|updateProfile)$/.test(id) && this.can(access));
    if (!reader) throw new Skip('it needs a key with user:read or user:write');
    for (const deadline = Date.now() + (this.#isOccupied ? 0 : OCCUPIED_MS); ;) {
      const me = await this.prepare<CurrentUser>(reader, {});
      const isMarked = Object.values(me).some((value) => typeof value === 'string' && value.startsWith(MARK));
      if (!isMarked) return me;
      this.#isOccupied = Date.now() >= deadline;
      if (this.#isOccupied) throw new Skip('the profile is as a run of verify writes it that goes on, or was stopped');
      await sleep(PAUSE_MS);
    }
  }

  /**
   * The example's input as it can be sent here: with the id of a record that is there, under a title of our own, and
   * without changing what the caller has.
   * @throws Skip
   */
  async input(operation: Operation): Promise<CallInput> {
    if (this.contracts.has(operation)) return this.contracts.inputFor(operation);
    const { example, idMember, notFound, effect } = operation;
    const marked = this.marked(example.input);
    if (idMember !== undefined && notFound) return { ...marked, [idMember]: await this.#idOf(operation, notFound) };
    const isOfCaller = effect === 'write' && !this.sibling(operation, 'create');
    if (!isOfCaller) return marked;
    const me = await this.me();
    return Object.fromEntries(Object.keys(marked).map((name) => [name, me[name as keyof CurrentUser]]));
  }

  /** The id of a thing that nothing else in the run uses, for an operation that takes one. @throws Skip */
  async ownId(operation: Operation, title?: string): Promise<string> {
    const own = this.#ownOf(operation);
    if (own) return own.idFor(operation);
    return (await this.publish(operation, title === undefined ? {} : { title })).id;
  }

  #publisher(operation: Operation, name: string): Operation {
    const publisher = this.operation(`${operation.router}.${name}`);
    const lack = this.missingScopes(publisher.needs);
    if (lack !== undefined) throw new Skip(lack);
    return publisher;
  }

  /** Whether the run publishes records of an operation's router. */
  #publishes(operation: Operation): boolean {
    const create = this.sibling(operation, 'create');
    return create !== undefined && this.can(create.access);
  }

  async #findRecord(operation: Operation): Promise<Content> {
    if (this.#publishes(operation)) return this.publish(operation);
    const [record] = await this.samples(operation);
    return record as Content;
  }

  async #findSamples(operation: Operation): Promise<RecordSummary[]> {
    const list = this.partner(operation, 'list');
    const isOther = ({ title }: RecordSummary): boolean => !title.startsWith(MARK);
    const { items } = await this.prepare<ListedPage>(list, { limit: SAMPLED, page: 1 });
    // Many runs may have been made since the others were published; what they made is hardly looked at.
    const viewed = items.some(isOther)
      ? []
      : (await this.prepare<ListedPage>(list, { limit: SAMPLED, page: 1, sortBy: 'views' })).items;
    const others = [...items, ...viewed].filter(isOther);
    const from = others.length > 0 ? others : items;
    const places = new Set([0, Math.floor(from.length / 2), from.length - 1]);
    const own = this.#publishes(operation) ? await this.record(operation) : undefined;
    return [...[...places].flatMap((place) => from[place] ?? []), ...(own ? [own as RecordSummary] : [])];
  }

  /** The webhooks or keys that the run makes, for an operation that takes the id of one. */
  #ownOf(operation: Operation): OwnWebhooks | OwnKeys | undefined {
    return [this.webhooks, this.keys].find((own) => own.has(operation));
  }

  /** The id of a record, of a user, of a webhook or of a key, as its absence is called. @throws Skip */
  async #idOf(operation: Operation, notFound: Reason): Promise<string> {
    const own = this.#ownOf(operation);
    if (own) return own.idFor(operation);
    const listed = this.lists;
    const owner = this.operations.find(({ reasons }) => reasons.includes(notFound));
    const list = listed.find(({ router }) => router === owner?.router);
    if (list) return (await this.record(list)).id;
    const [any] = listed;
    if (!any) throw new Skip('there is no user to read');
    return (await this.record(any)).author.id;
  }
}
