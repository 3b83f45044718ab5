import { randomBytes } from 'node:crypto';
import type { Access, Contract, OutputOf, Reason, Scope } from '../../contract/index.ts';
import type { Client, Reply, Request } from './client.ts';
import { expectSuccess } from './expect.ts';
import { Mismatch, Skip } from './finding.ts';
import type { Operation } from './operation.ts';

/** A reply that is as the contract says, and the output in it. */
export interface Answer<T> {
  output: T;
  reply: Reply;
}

/** A game or an image post. */
export type Content = OutputOf<Contract['game']['getById'] | Contract['image']['getById']>;
/** A page of either. */
export type Page = OutputOf<Contract['game']['list'] | Contract['image']['list']>;
export type TypeStats = OutputOf<Contract['game']['getTypeStats']>;
export type CurrentUser = OutputOf<Contract['user']['me']>;
export type UserProfile = OutputOf<Contract['user']['getProfile']>;
export type FoundUsers = OutputOf<Contract['user']['search']>;

type Input = Readonly<Record<string, unknown>>;

/** The tag of every record that the kit makes. */
export const TAG = 'verify';

/** Who calls. */
export interface Caller {
  key: string | undefined;
  /** What the key allows. */
  scopes: ReadonlySet<Scope>;
  /** A well-formed key that the deployment has not issued. */
  unknownKey: string;
}

/** A new name for a run: twelve hexadecimal digits. */
export const newRun = (): string => randomBytes(6).toString('hex');

type SessionParts = Pick<Session, 'operations' | 'client' | 'caller' | 'run' | 'document'>;

/** One run of the kit on a deployment: who calls, and the records it has to do with. */
export class Session {
  readonly operations: readonly Operation[];
  readonly caller: Caller;
  /** In the title of every record of this run. */
  readonly run: string;
  readonly client: Client;
  /** The OpenAPI document of the contract. */
  readonly document: object;
  readonly #records = new Map<string, Promise<Content>>();

  constructor({ operations, client, caller, run, document }: SessionParts) {
    this.operations = operations;
    this.client = client;
    this.caller = caller;
    this.run = run;
    this.document = document;
  }

  /** What the paths of all operations begin with. */
  get apiPath(): string {
    const [{ path, id } = { path: '', id: '' }] = this.operations;
    return path.slice(0, -id.length);
  }

  /** Whether the key may call operations of this access. */
  can(access: Access): boolean {
    return access === 'public' || this.caller.scopes.has(access);
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
    { id, path }: Pick<Operation, 'id' | 'path'>,
    { headers, ...request }: Request,
    { anonymous = false } = {},
  ): Promise<Reply> {
    const { key } = this.caller;
    return this.client.send(id, path, {
      ...request,
      headers: {
        ...(request.body !== undefined && { 'Content-Type': 'application/json' }),
        ...(key !== undefined && !anonymous && { Authorization: `Bearer ${key}` }),
        ...headers,
      },
    });
  }

  /**
   * Calls an operation that has to succeed. `T` is its output by the contract, which the reply is held against.
   * @throws Mismatch, Skip
   */
  async call<T>(operation: Operation, json: unknown, { anonymous = false } = {}): Promise<Answer<T>> {
    const reply = await this.send(operation, { body: JSON.stringify({ json }) }, { anonymous });
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
    return `[${TAG} ${this.run}] ${title}`;
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
  batch({ example }: Operation, titles: readonly string[]): Input {
    const [[member, items] = ['', []]] = Object.entries(example.input);
    const [item] = items as Input[];
    return { [member]: titles.map((title) => this.marked({ ...item, title })) };
  }

  /** Publishes a record of our own, for a check of something else. @throws Skip */
  async publish(operation: Operation, changes: Input = {}): Promise<Content> {
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

  /** The user of the key. @throws Skip */
  async me(): Promise<CurrentUser> {
    // A change of nothing answers the user, too.
    const reader = this.operations.find(({ id, access }) => /^user\.(me|updateProfile)$/.test(id) && this.can(access));
    if (!reader) throw new Skip('it needs a key with user:read or user:write');
    return this.prepare<CurrentUser>(reader, {});
  }

  /**
   * The example's input as it can be sent here: with the id of a record that is there, under a title of our own, and
   * without changing what the caller has.
   * @throws Skip
   */
  async input(operation: Operation): Promise<Input> {
    const { example, idMember, notFound, effect } = operation;
    const marked = this.marked(example.input);
    if (idMember !== undefined && notFound) return { ...marked, [idMember]: await this.#idOf(notFound) };
    const isOfCaller = effect === 'write' && !this.sibling(operation, 'create');
    if (!isOfCaller) return marked;
    const me = await this.me();
    return Object.fromEntries(Object.keys(marked).map((name) => [name, me[name as keyof CurrentUser]]));
  }

  #publisher(operation: Operation, name: string): Operation {
    const publisher = this.sibling(operation, name);
    if (publisher && this.can(publisher.access)) return publisher;
    throw new Skip(`it needs a key that may publish by ${operation.router}.${name}`);
  }

  async #findRecord(operation: Operation): Promise<Content> {
    const [create, list] = [this.sibling(operation, 'create'), this.sibling(operation, 'list')];
    if (create && this.can(create.access)) return this.publish(operation);
    const page = list && (await this.prepare<Page>(list, { limit: 1, page: 1 }));
    const [record] = page?.items ?? [];
    if (!record) throw new Skip('there is no record to read');
    return record as Content;
  }

  /** The id of a record, or of a user, as its absence is called. @throws Skip */
  async #idOf(notFound: Reason): Promise<string> {
    const listed = this.operations.filter(({ name }) => name === 'list');
    const owner = this.operations.find(({ reasons }) => reasons.includes(notFound));
    const list = listed.find(({ router }) => router === owner?.router);
    if (list) return (await this.record(list)).id;
    const [any] = listed;
    if (!any) throw new Skip('there is no user to read');
    return (await this.record(any)).author.id;
  }
}
