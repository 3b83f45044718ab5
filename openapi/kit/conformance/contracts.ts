import type { Operation } from './contract/operation.ts';
import type { Reply } from './exchange.ts';

/** How a run calls the deployment. */
interface Calls {
  readonly run: string;
  readonly client: { readonly replies: readonly Reply[] };
  operation: (id: string) => Operation;
  prepare: <T>(operation: Operation, json: unknown) => Promise<T>;
  post: (operation: Operation, json: unknown) => Promise<Reply>;
}

const ROUTER = 'consumerContract';
const PUBLISH = 'consumerContract.publish';
const TAG = 'verify';

/** The consumer contract that a run publishes: of a consumer that is not there, under a tag that operators do not ask for. */
export class OwnContract {
  readonly #session: Calls;

  constructor(session: Calls) {
    this.#session = session;
  }

  /** Whether an operation takes a contract, or the name of one. */
  has({ router, effect }: Pick<Operation, 'router' | 'effect'>): boolean {
    return router === ROUTER && effect === 'write';
  }

  /** The name under which it is published. */
  get name(): { consumer: string; tag: string } {
    return { consumer: `verify ${this.#session.run}`, tag: TAG };
  }

  /** A tag and a contract to publish. */
  get input(): { tag: string; contract: { consumer: string; contract: string; needs: readonly object[] } } {
    const { consumer, tag } = this.name;
    const { contract } = this.#session.operation(PUBLISH).example.input as { contract: object };
    return { tag, contract: { ...contract, consumer } as never };
  }

  /** The input of an operation: the contract or, where one is named, the name of one that was just published. @throws Skip */
  async inputFor({ id }: Pick<Operation, 'id'>): Promise<Readonly<Record<string, unknown>>> {
    if (id === PUBLISH) return this.input;
    await this.#session.prepare(this.#session.operation(PUBLISH), this.input);
    return this.name;
  }

  /** Deletes what the run has published. Never rejects. */
  async tidy(): Promise<void> {
    const isPublished = this.#session.client.replies.some(
      ({ subject, status }) => subject === PUBLISH && status === 200,
    );
    // One that its check has deleted is no longer found.
    if (isPublished)
      await this.#session.post(this.#session.operation(`${ROUTER}.delete`), this.name).catch(() => undefined);
  }
}
