import { KEY_LENGTH } from '../../contract/index.ts';
import { clientSubnet } from '../rate-limit/client-subnet.ts';

/**
 * Whose turn a call takes: its key's, or without one its network's. The key is not necessarily a valid one; only calls that
 * were authorized wait in queues.
 */
export const callerOf = (authorization: string | undefined, address: string): string =>
  authorization === undefined ? clientSubnet(address) : authorization.slice(-KEY_LENGTH);
