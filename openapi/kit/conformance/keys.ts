import type { Contract, OutputOf } from '../../../contract/index.ts';
import type { Operation } from './contract/operation.ts';
import type { Reply } from './exchange.ts';
import { valueAt } from './values.ts';

/** How a run calls the deployment. */
interface Calls {
  readonly client: { readonly replies: readonly Reply[] };
  operation: (id: string) => Operation;
  prepare: <T>(operation: Operation, json: unknown) => Promise<T>;
  post: (operation: Operation, json: unknown) => Promise<Reply>;
  title: (title: string) => string;
}

type Created = OutputOf<Contract['apiKey']['create']>;

const ROUTER = 'apiKey';
const MAKERS = ['apiKey.create', 'apiKey.rotate'];

/** The keys that a run makes. Each is revoked when the check ends for which it was made, and else expires in a day. */
export class OwnKeys {
  readonly #session: Calls;
  /** How many replies have been looked through for keys. */
  #seen = 0;

  constructor(session: Calls) {
    this.#session = session;
  }

  /** Whether an operation takes the id of a key. */
  has({ router }: Pick<Operation, 'router'>): boolean {
    return router === ROUTER;
  }

  /** Makes a key that may change keys, as the key in use may. @throws Skip */
  create(): Promise<Created> {
    const input = { name: this.#session.title('key'), scopes: ['key:write'], expiresInDays: 1 };
    return this.#session.prepare<Created>(this.#session.operation('apiKey.create'), input);
  }

  /** The id of a new key. @throws Skip */
  async idFor(): Promise<string> {
    return (await this.create()).id;
  }

  /** The id of a new key that is revoked. @throws Skip */
  async ended(): Promise<string> {
    const id = await this.idFor();
    await this.#session.prepare(this.#session.operation('apiKey.revoke'), { id });
    return id;
  }

  /** Revokes the keys that were made since the last time. Never rejects. */
  async tidy(): Promise<void> {
    const { replies } = this.#session.client;
    const made = replies.slice(this.#seen).filter(({ subject, status }) => MAKERS.includes(subject) && status === 200);
    const ids = new Set(made.map(({ json }) => String(valueAt(json, ['result', 'data', 'json', 'id']))));
    for (const id of ids) {
      await this.#session.post(this.#session.operation('apiKey.revoke'), { id }).catch(() => undefined);
    }
    this.#seen = replies.length;
  }
}
