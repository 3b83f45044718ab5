import { KEY_LENGTH } from '../../contract/index.ts';
import { clientSubnet } from '../rate-limit/client-subnet.ts';

/**
 * The caller whose turn a call takes: its key or, without one, its subnet. The key may be invalid; only authorized
 * calls wait in queues.
 */
export const callerOf = (authorization: string | undefined, address: string): string =>
  authorization === undefined ? clientSubnet(address) : authorization.slice(-KEY_LENGTH);
