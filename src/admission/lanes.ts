import type { Procedure } from '../../contract/index.ts';
import { classOf, costOf } from './cost.ts';
import { defaultPatience, Lane, type Patience } from './lane.ts';
import type { AdmissionObserver } from './observer.ts';
import { Pace } from './pace.ts';

/**
 * The ways that calls of one router take, none of which another's crowd can block: reads of single records, lists, searches
 * and what is as dear, and writes.
 */
type Way = 'record' | 'list' | 'search' | 'write';

/**
 * How many of each run at once, in one process, and how many wait before newcomers are refused at once. What runs at once
 * is what keeps two cores busy: measured, more of it adds to every answer's time and to nobody's throughput.
 * - Records are read by their keys, up to 64 in one query: fewer at once would leave the queries half empty.
 * - Eight lists are under way at once; of those, the database reads four.
 * - Searches take this process' own time, too; a search for what is rare takes ten times that of a list.
 * - Writes wait for the disk, and those of one record for each other, to be done together.
 */
const CAPACITIES: Record<Way, { running: number; waiting: number }> = {
  record: { running: 64, waiting: 256 },
  list: { running: 8, waiting: 128 },
  search: { running: 4, waiting: 64 },
  write: { running: 32, waiting: 128 },
};

/** What a list counts for that somebody in particular asks for: equal ones meet where they are read. */
const OWN_LIST = 1 / 4;

/** Reads of what is alike weigh as much as searches. */
const isDear = ({ name }: Procedure): boolean => name === 'getRelated';

/** A lane, and what a call takes up of it. */
interface Place {
  lane: Lane;
  cost: number;
}

/** The lanes of one process. */
export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #places = new Map<string, Place>();
  readonly patience: Patience;
  readonly pace = new Pace();
  readonly observer: AdmissionObserver | undefined;

  constructor(patience = defaultPatience, observer?: AdmissionObserver) {
    this.patience = patience;
    this.observer = observer;
  }

  /** Where a call belongs. `input` is what it sends, valid or not; `isOwn`: whether it is made in somebody's name. */
  placeOf(procedure: Procedure, input: unknown, isOwn: boolean): Place {
    if (procedure.searchMember !== undefined || procedure.recordsMember !== undefined || isOwn) {
      return this.#findPlace(procedure, input, isOwn);
    }
    // Where the input tells nothing, they are all alike.
    const known = this.#places.get(procedure.id) ?? this.#findPlace(procedure, input, isOwn);
    this.#places.set(procedure.id, known);
    return known;
  }

  #findPlace(procedure: Procedure, input: unknown, isOwn: boolean): Place {
    const way = this.#wayOf(procedure, input);
    const cost = costOf(procedure, input);
    return { lane: this.#lane(procedure, way), cost: isOwn && way === 'list' ? cost * OWN_LIST : cost };
  }

  /** Every lane that calls of a procedure may belong to. */
  allOf(procedure: Procedure): readonly Lane[] {
    const ways = new Set([this.#wayOf(procedure, undefined)]);
    if (procedure.searchMember !== undefined) ways.add('search');
    return [...ways].map((way) => this.#lane(procedure, way));
  }

  #wayOf(procedure: Procedure, input: unknown): Way {
    const counted = classOf(procedure, input);
    if (counted !== 'read') return counted;
    if (isDear(procedure)) return 'search';
    return procedure.answersList ? 'list' : 'record';
  }

  #lane({ router }: Procedure, way: Way): Lane {
    const name = `${router}.${way}`;
    const known = this.#lanes.get(name);
    if (known) return known;
    const lane = new Lane(CAPACITIES[way], this.patience, (usage) => this.observer?.lane(name, usage));
    this.#lanes.set(name, lane);
    return lane;
  }
}
