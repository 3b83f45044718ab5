import { platform } from '#platform';
import { createCall } from './call.js';
import type { Call, Operation } from './call.js';
import { operations } from './generated/operations.js';
import { Procedures } from './generated/procedures.js';
import type { GatewayOptions, WriteOptions } from './options.js';
import { gatewayPromise } from './promise.js';
import type { GatewayPromise } from './promise.js';
import { settingsOf } from './settings.js';
import { UsageError } from './usage-error.js';

/** An operation by its id. One that the SDK doesn't know may write, so it is sent as a write. @throws UsageError if this is no id */
const operationOf = (id: string): Operation => {
  if (!/^[a-z][A-Za-z0-9]*\.[a-z][A-Za-z0-9]*$/.test(id)) {
    throw new UsageError(`an operation has a name such as game.getById, not ${JSON.stringify(id)}`);
  }
  return (
    (operations as Record<string, Operation>)[id] ?? {
      id,
      path: `/api/trpc/${id}`,
      writes: true,
      paged: false,
      members: [],
    }
  );
};

/**
 * A client of the {{title}}. Connections are shared by all clients with the same settings: make as many as you like, and close
 * none.
 *
 * @example
 * const gateway = new ContentGateway({ baseUrl: '{{homepage}}' });
 * const { items } = await gateway.game.list({ sortBy: 'likes' });
 */
export class ContentGateway extends Procedures {
  readonly #options: GatewayOptions;
  readonly #call: Call;

  /** @throws UsageError if an option is wrong, or there is no base URL */
  constructor(given: GatewayOptions = {}) {
    const options = (given as GatewayOptions | null) ?? {};
    const settings = settingsOf(options);
    const call = platform.recorded(createCall(settings));
    super(call);
    this.#call = call;
    this.#options = { ...options, baseUrl: settings.baseUrl, apiKey: settings.apiKey };
  }

  /**
   * Makes a client with other options; those that aren't given stay as they are, also of `headers`.
   *
   * @throws UsageError if an option is wrong
   */
  withOptions(options: GatewayOptions): ContentGateway {
    const given = Object.entries((options as GatewayOptions | null) ?? {}).filter(([, value]) => value !== undefined);
    const headers = { ...this.#options.headers, ...(options as GatewayOptions | null)?.headers };
    return new ContentGateway({ ...this.#options, ...(Object.fromEntries(given) as GatewayOptions), headers });
  }

  /**
   * Calls an operation by its id, such as one that is newer than this SDK. The output is not typed beyond what you say.
   * An operation that the SDK doesn't know is sent an `Idempotency-Key`, so that trying it again is safe.
   */
  call<T extends object = Record<string, unknown>>(
    operation: string,
    input: object = {},
    options?: WriteOptions,
  ): GatewayPromise<T> {
    const call = async () => this.#call<T>(operationOf(operation), input, options);
    return gatewayPromise(call());
  }
}
