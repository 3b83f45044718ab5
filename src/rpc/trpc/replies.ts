/** The replies of batches, as a list or as a line of JSON: https://trpc.io/docs/rpc */

const MULTI_STATUS = 207;

/** The reply to one call of a batch. */
export interface BatchReply {
  status: number;
  headers: Record<string, string>;
  json: Buffer;
}

/** Buffers, and texts, one after the other. */
const joined = (parts: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));

const comma = (index: number): string => (index === 0 ? '' : ',');

/** A batch as a list. */
export const asList = (replies: readonly BatchReply[]): Buffer =>
  joined(['[', ...replies.flatMap(({ json }, index) => [comma(index), json]), ']']);

// The beginning and the end of a reply. The part between may be large, so it is cut out instead of parsed.
const SUCCESS = ['{"result":{"data":{"json":', '}}}'] as const;
const FAILURE = ['{"error":{"json":', '}}'] as const;

const between = (json: Buffer, [before, after]: readonly [string, string]): Buffer =>
  json.subarray(before.length, json.length - after.length);

/** A reply without superjson's envelope, which the line has once for all of them. */
const unwrapped = ({ status, json }: BatchReply): (string | Buffer)[] =>
  status === 200 ? ['{"result":{"data":', between(json, SUCCESS), '}}'] : ['{"error":', between(json, FAILURE), '}'];

/** A batch as one line of JSON, which superjson and tRPC's decoder of streams take apart. */
export const asJsonLine = (replies: readonly BatchReply[]): Buffer => {
  const members = replies.flatMap((reply, index) => [`${comma(index)}"${index}":[[`, ...unwrapped(reply), ']]']);
  return joined(['{"json":{', ...members, '}}\n']);
};

/** The status that all replies agree on, else 207. */
export const commonStatus = (replies: readonly BatchReply[]): number => {
  const [first, ...others] = replies.map(({ status }) => status);
  return first !== undefined && others.every((status) => status === first) ? first : MULTI_STATUS;
};
