import type { Access, Scope } from '../../../contract/index.ts';
import { Answer } from './answer.ts';
import { WITHHELD } from './check.ts';
import type { Operation } from './contract/operation.ts';
import type { Reply, Request } from './exchange.ts';
import { expectSuccess } from './findings/expect.ts';
import { Mismatch, Skip } from './findings/finding.ts';
import type { Client } from './http/client.ts';

/** The caller of a run. */
export interface VerifyCaller {
  key: string | undefined;
  /** The scopes of the key. */
  scopes: ReadonlySet<Scope>;
  /** A well-formed key that the deployment has not issued. */
  unknownKey: string;
}

/** The members of an operation that a call needs. */
type Callee = Pick<Operation, 'id' | 'path' | 'effect'>;

export interface CallOptions {
  headers?: Record<string, string>;
  /** Whether to leave the key out. */
  anonymous?: boolean;
}

/** Calls the operations of a deployment as the caller of a run. */
export class Calls {
  readonly operations: readonly Operation[];
  readonly client: Client;
  readonly caller: VerifyCaller;
  /** Whether the run must not change anything: it then calls operations that write without the key. */
  readonly readOnly: boolean;

  constructor({ operations, client, caller, readOnly }: Pick<Calls, 'operations' | 'client' | 'caller' | 'readOnly'>) {
    this.operations = operations;
    this.client = client;
    this.caller = caller;
    this.readOnly = readOnly;
  }

  /** Whether the key has this access, and the run may use it. */
  can(access: Access): boolean {
    return access === 'public' || (this.caller.scopes.has(access) && !this.isWithheld(access));
  }

  /** Whether the run does not use a scope, since operations that need it write. */
  isWithheld(access: Access): boolean {
    return this.readOnly && this.operations.some((one) => one.access === access && one.effect === 'write');
  }

  /** Why the caller cannot call operations that need these scopes; undefined if it can. */
  missingScopes(needs: readonly Scope[]): string | undefined {
    const lacking = needs.filter((scope) => !this.can(scope));
    if (lacking.length === 0) return undefined;
    const isWithheld = this.caller.key !== undefined && lacking.every((scope) => this.isWithheld(scope));
    return isWithheld ? WITHHELD : `it needs a key with ${lacking.join(' and ')}`;
  }

  /** The operation with an id. @throws Skip if none exists */
  operation(id: string): Operation {
    const operation = this.operations.find((one) => one.id === id);
    if (!operation) throw new Skip(`there is no ${id}`);
    return operation;
  }

  /** An operation of the same router, to see the effect of this one. @throws Skip if none exists */
  partner({ router }: Operation, name: string): Operation {
    return this.operation(`${router}.${name}`);
  }

  /** The lists of records, page by page. */
  get lists(): Operation[] {
    return this.operations.filter(({ laws }) => laws.includes('pages'));
  }

  /** Sends a request to an operation, with the key unless `anonymous`. @throws Mismatch, Skip */
  send(
    { id, path, effect }: Callee,
    { headers, ...request }: Request,
    { anonymous = false }: Pick<CallOptions, 'anonymous'> = {},
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
  post(operation: Callee, json: unknown, { headers = {}, ...options }: CallOptions = {}): Promise<Reply> {
    return this.send(operation, { body: JSON.stringify({ json }), headers }, options);
  }

  /** Sends an input to an operation by tRPC's GET. @throws Mismatch, Skip */
  get(operation: Operation, json: unknown): Promise<Reply> {
    const path = `${operation.path}?input=${encodeURIComponent(JSON.stringify({ json }))}`;
    return this.send({ ...operation, path }, { method: 'GET' });
  }

  /**
   * Calls an operation that must succeed. `T` is its output by the contract, which validates the reply.
   * @throws Mismatch, Skip
   */
  async call<T>(operation: Operation, json: unknown, options?: CallOptions): Promise<Answer<T>> {
    const reply = await this.post(operation, json, options);
    return new Answer(expectSuccess(operation, reply) as T, reply);
  }

  /** Calls an operation for a check of another one. If it fails, its own checks report that. @throws Skip */
  async prepare<T>(operation: Operation, json: unknown): Promise<T> {
    try {
      return (await this.call<T>(operation, json)).output;
    } catch (error) {
      if (error instanceof Mismatch) throw new Skip(`${operation.id} does not work`, { cause: error });
      throw error;
    }
  }
}
