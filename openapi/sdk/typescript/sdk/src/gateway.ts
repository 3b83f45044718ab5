import { createCall } from './call.js';
import { Procedures } from './generated/procedures.js';
import { settingsOf } from './options.js';
import type { GatewayOptions } from './options.js';

/**
 * A client of the {{title}}. It holds no connection of its own: make as many as you like, and close none.
 *
 * @example
 * const gateway = new ContentGateway({ baseUrl: '{{homepage}}' });
 * const { items } = await gateway.game.list({ limit: 20, page: 1 });
 */
export class ContentGateway extends Procedures {
  /** @throws TypeError if an option is wrong, or there is no base URL */
  constructor(options: GatewayOptions = {}) {
    super(createCall(settingsOf(options)));
  }
}
