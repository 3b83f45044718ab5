import type { ErrorResponse } from '../../../contract/index.ts';

/** A failure of ours as JSON-RPC's, whose members it has. `id` is that of the request, null where it is not known. */
export const asJsonRpc = ({ error: { json } }: ErrorResponse, id: string | number | null = null): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: json });
