import { Random } from '../../src/sandbox/seed/random.ts';
import type { ProcedureId } from '../harness/app/app.ts';
import { type Entry, markOf } from './history.ts';
import {
  type Account,
  type Json,
  type Kind,
  kinds,
  type Performance,
  type Reached,
  Session,
  TRACE,
} from './session.ts';

// Clients that take one step after the other, as their random numbers say.

/** Users, of whom each has some of the clients. */
export const USERS = 4;
/** Records that clients work on at a time, of each kind: few, so that they meet. */
const ACTIVE = 3;
/** The calls after which a record is left alone: the search for an order takes longer with each open outcome. */
const USES = 150;
/** The calls on a record after its deletion has begun. */
const USES_AFTER = 8;
/** The records of a tag, which clients walk. */
const WAVE = 40;
/** The records of a page of a walk: the records of a tag take some pages. */
const PAGE = 10;
/** The records of a page that is read alone. */
const SHORT_PAGE = 3;
const MAX_FOUND = 50;

interface ActiveRecord {
  id: string;
  ownerId: string;
  tag: string;
  uses: number;
}

/** The records that clients know and work on. */
export class ActiveRecords {
  readonly #records: Record<Kind, ActiveRecord[]> = { game: [], image: [] };
  /** The others, of which some are deleted. */
  readonly #idle: Record<Kind, ActiveRecord[]> = { game: [], image: [] };
  #created = 0;

  lacks(kind: Kind): boolean {
    return this.#records[kind].length < ACTIVE;
  }

  add(kind: Kind, record: Pick<ActiveRecord, 'id' | 'ownerId' | 'tag'>): void {
    (this.lacks(kind) ? this.#records : this.#idle)[kind].push({ ...record, uses: 0 });
  }

  /** Any of a kind, rather one of an owner who is named. */
  take(kind: Kind, random: Random, ownerId?: string): ActiveRecord | undefined {
    const all = this.#records[kind];
    if (all.length === 0) return undefined;
    const own = all.filter((record) => record.ownerId === ownerId);
    const record = random.pick(own.length > 0 ? own : all);
    record.uses += 1;
    if (record.uses >= USES) all.splice(all.indexOf(record), 1);
    return record;
  }

  /** One of an owner to delete. One that clients work on is left alone after some more calls, which do not find it. */
  takeToDelete(kind: Kind, random: Random, ownerId: string): ActiveRecord | undefined {
    const all = (random.chance(0.3) ? this.#records : this.#idle)[kind];
    const own = all.filter((record) => record.ownerId === ownerId);
    if (own.length === 0) return undefined;
    const record = random.pick(own);
    record.uses = Math.max(record.uses, USES - USES_AFTER);
    if (all === this.#idle[kind]) all.splice(all.indexOf(record), 1);
    return record;
  }

  /** Leaves the records of an owner alone. */
  forget(ownerId: string): void {
    for (const records of [this.#records, this.#idle])
      for (const kind of kinds) records[kind] = records[kind].filter((record) => record.ownerId !== ownerId);
  }

  nextTag(): string {
    this.#created += 1;
    return this.tag;
  }

  get tag(): string {
    return `wave-${Math.floor(this.#created / WAVE)}`;
  }
}

interface Repeatable {
  operation: ProcedureId;
  input: Json;
  about: Performance;
}

/** A client: it takes one step after the other, as its random numbers say. */
export class Walker {
  readonly user: string;
  readonly #seed: string;
  #random: Random;
  #steps = 0;
  readonly #session: Session;
  readonly #anonymous: Session;
  readonly #records: ActiveRecords;
  readonly #name: string;
  /** Clients of one user use different keys, those of different users the same ones. */
  readonly #seat: number;
  /** Whether its user is the one who is erased. */
  readonly #isDoomed: boolean;
  #n = 0;
  #last: Repeatable | undefined;

  constructor(
    history: Entry[],
    reached: Reached,
    records: ActiveRecords,
    client: number,
    account: Account,
    seed: string,
    { isDoomed = false } = {},
  ) {
    this.user = account.id;
    this.#seed = `${seed} ${client}`;
    this.#random = new Random(this.#seed);
    this.#session = new Session(history, reached, client, account);
    this.#anonymous = new Session(history, reached, client);
    this.#records = records;
    this.#isDoomed = isDoomed;
    this.#name = isDoomed ? `${TRACE}-${client}` : `${client}`;
    this.#seat = Math.floor(client / USERS);
  }

  close(): void {
    this.#session.close();
    this.#anonymous.close();
  }

  /** Leaves the next step out. */
  skip(): void {
    this.#steps += 1;
  }

  /** Takes the next step. It has random numbers of its own, and so does not depend on the steps before it. */
  async step(): Promise<void> {
    this.#random = new Random(`${this.#seed} ${this.#steps}`);
    this.#steps += 1;
    const lacking = kinds.filter((kind) => this.#records.lacks(kind));
    if (lacking.length > 0 && this.#random.chance(0.3)) return this.#create(this.#random.pick(lacking));
    const kind = this.#random.pick(kinds);
    const steps: readonly [number, () => Promise<void>][] = [
      [28, () => this.#read(kind, this.#session)],
      [12, () => this.#read(kind, this.#anonymous)],
      [18, () => this.#toggle(kind, 'toggleFavorite', {})],
      [18, () => this.#toggle(kind, 'toggleReaction', { type: this.#random.pick(['like', 'dislike']) })],
      [8, () => this.#update(kind)],
      [3, () => this.#delete(kind)],
      [3, () => this.#changeProfile()],
      [5, () => this.#readUser()],
      [5, () => this.#list(kind)],
      [1, () => this.#readRelated()],
      [2, () => this.#create(kind)],
      [2, () => this.#createSome(kind)],
      [1, () => this.#walk(kind)],
      [4, () => this.repeat()],
    ];
    let drawn = this.#random.between(
      1,
      steps.reduce((sum, [weight]) => sum + weight, 0),
    );
    for (const [weight, step] of steps) {
      drawn -= weight;
      if (drawn <= 0) return step();
    }
  }

  /** Most writes have a key, and are repeated until they are answered; the others are sent once. */
  async #write(
    operation: ProcedureId,
    input: Json,
    about: Performance,
    { isOnce = false, showsAll = false } = {},
  ): Promise<Entry | undefined> {
    const hasKey = isOnce || this.#random.chance(0.75);
    const all = { ...about, ...(hasKey && { key: `${this.#seat}-${this.#n}` }) };
    const entry = await (showsAll
      ? this.#session.showAll(operation, input, all)
      : this.#session.show(operation, input, all));
    if (entry && hasKey) this.#last = { operation, input, about: all };
    return entry;
  }

  /** A name that no other record or user has. */
  #next(): string {
    this.#n += 1;
    return `${this.#name}-${this.#n}`;
  }

  #draft(kind: Kind, name: string): Json {
    const title = `${kind} ${name}`;
    const tagNames = [this.#records.nextTag(), ...(this.#isDoomed && this.#random.chance(0.3) ? [TRACE] : [])];
    const url = `https://images.example.com/${name}.png`;
    if (kind === 'image') return { title, tagNames, images: [url] };
    const gameType = this.#isDoomed && this.#random.chance(0.3) ? TRACE : `T${this.#random.between(0, 2)}`;
    return { title, tagNames, gameType, coverUrl: url };
  }

  async #create(kind: Kind): Promise<void> {
    const input = this.#draft(kind, this.#next());
    const { tagNames } = input as { tagNames: [string] };
    const entry = await this.#write(`${kind}.create`, input, { mark: markOf(input) });
    if (!entry?.output?.id) return;
    entry.record = entry.output.id;
    this.#records.add(kind, { id: entry.record, ownerId: this.user, tag: tagNames[0] });
  }

  /** Publishes some at once; of some batches, the last record is invalid. */
  async #createSome(kind: Kind): Promise<void> {
    const name = this.#next();
    const drafts = ['a', 'b', 'c'].map((letter) => this.#draft(kind, `${name}-${letter}`));
    if (this.#random.chance(0.2)) drafts.push({ ...this.#draft(kind, `${name}-d`), description: 7 });
    const input = kind === 'game' ? { games: drafts } : { posts: drafts };
    const entry = await this.#write(`${kind}.batchCreate`, input, {}, { showsAll: true });
    for (const { id, tags } of entry?.items ?? [])
      if (id !== undefined) this.#records.add(kind, { id, ownerId: this.user, tag: tags?.split(',')[0] ?? '' });
    if (this.#random.chance(0.3)) await this.repeat();
  }

  async #read(kind: Kind, session: Session): Promise<void> {
    const id = this.#records.take(kind, this.#random)?.id;
    const isGet = this.#random.chance(0.1);
    if (id !== undefined) await session.show(`${kind}.getById`, { id }, { record: id, isGet });
  }

  async #toggle(kind: Kind, name: 'toggleFavorite' | 'toggleReaction', more: Json): Promise<void> {
    const id = this.#records.take(kind, this.#random)?.id;
    if (id === undefined) return;
    this.#next();
    await this.#write(`${kind}.${name}`, { [kind === 'game' ? 'gameId' : 'imagePostId']: id, ...more }, { record: id });
  }

  /** A record keeps the tag by which it is walked. Each update changes something: another one has no event. */
  async #update(kind: Kind): Promise<void> {
    const record = this.#records.take(kind, this.#random, this.user);
    if (record === undefined) return;
    const { id, tag } = record;
    const name = this.#next();
    const change = this.#random.chance(0.6)
      ? { title: `title ${name}` }
      : { tagNames: [tag, `more-${this.#random.between(0, 2)}`], description: `described ${name}` };
    const gameType = kind === 'game' && this.#random.chance(0.3) && `T${this.#random.between(0, 2)}`;
    await this.#write(`${kind}.update`, { id, ...change, ...(gameType && { gameType }) }, { record: id });
  }

  /** Deletes an own record. */
  async #delete(kind: Kind): Promise<void> {
    const id = this.#records.takeToDelete(kind, this.#random, this.user)?.id;
    this.#next();
    if (id !== undefined) await this.#write(`${kind}.delete`, { id }, { record: id });
  }

  /** Names are never left open: users are the same all the time. */
  async #changeProfile(): Promise<void> {
    const name = this.#next();
    const about = { record: this.user };
    if (this.#random.chance(0.6))
      await this.#write('user.updateProfile', { nickname: `user ${name}` }, about, { isOnce: true });
    else await this.#write('user.updateAvatar', { avatar: `/avatars/${name}.png` }, about, { isOnce: true });
  }

  async #readUser(): Promise<void> {
    const session = this.#random.pick([this.#session, this.#anonymous]);
    const chance = this.#random.fraction();
    if (chance < 0.3) await this.#session.show('user.me', {}, { record: this.user });
    else if (chance < 0.6) await this.#session.showAll('user.search', { query: 'user', limit: MAX_FOUND });
    else await session.show('user.getProfile', { id: this.user }, { record: this.user });
  }

  async #list(kind: Kind): Promise<void> {
    const session = this.#random.pick([this.#session, this.#anonymous]);
    const filters = [{}, { tagSlugs: [this.#records.tag] }, { search: kind }, { authorId: this.user }];
    const sorts = kind === 'game' ? ['latest', 'views', 'likes', 'favorites'] : ['latest', 'views'];
    await session.showAll(`${kind}.list`, {
      limit: SHORT_PAGE,
      page: 1,
      sortBy: this.#random.pick(sorts),
      ...this.#random.pick(filters),
    });
  }

  async #readRelated(): Promise<void> {
    const gameId = this.#records.take('game', this.#random)?.id;
    if (gameId !== undefined) await this.#session.showAll('game.getRelated', { gameId, limit: SHORT_PAGE });
  }

  async #walk(kind: Kind): Promise<void> {
    const sorts = kind === 'game' ? ['latest', 'oldest'] : ['latest'];
    await this.#session.walk(kind, { sortBy: this.#random.pick(sorts), tagSlugs: [this.#records.tag], limit: PAGE });
  }

  /** Sends the last write with a key again, or another one with the same key. */
  async repeat(): Promise<void> {
    const last = this.#last;
    if (!last) return;
    const { title, type } = last.input as { title?: string; type?: string };
    const isOther = this.#random.chance(0.3) && (title !== undefined || type !== undefined);
    const other = title === undefined ? { type: type === 'like' ? 'dislike' : 'like' } : { title: `${title}, again` };
    await this.#session.show(last.operation, isOther ? { ...last.input, ...other } : last.input, {
      ...last.about,
      repeats: isOther ? 'other input' : 'same input',
    });
  }
}
