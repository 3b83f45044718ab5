import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll } from '@jest/globals';
import { nameOf } from '../../../src/rpc/mcp/tools.ts';

/** The revisions that clients speak: those with a handshake, and those without. */
export const eras = ['legacy', 'modern'] as const;
export type Era = (typeof eras)[number];

/** The revision of clients that need no handshake. */
const MODERN = '2026-07-28';

/** A client of the official SDK that has connected to nothing yet. */
export const aClient = (era: Era): Client =>
  new Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: MODERN } } },
  );

const open = new Set<Client>();

afterAll(() => Promise.all([...open].map((client) => client.close())));

interface Options {
  key?: string;
  era?: Era;
  headers?: Record<string, string>;
}

/** A client of the service at this address. @throws what the SDK throws when it is not let in */
export const connect = async (url: string, { key, era = 'modern', headers = {} }: Options = {}): Promise<Client> => {
  const client = aClient(era);
  const credential: Record<string, string> = key === undefined ? {} : { Authorization: `Bearer ${key}` };
  const requestInit = { headers: { ...headers, ...credential } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  open.add(client);
  return client;
};

/** Has a client call the tool of a procedure. */
export const callTool = (client: Client, id: string, input: unknown = {}): Promise<CallToolResult> =>
  client.callTool({ name: nameOf({ id }), arguments: input as Record<string, unknown> });

/** Whether a result says that its texts are by others. */
export const isMarked = ({ content }: CallToolResult): boolean =>
  content.some(
    (item) => item.type === 'text' && /^The texts in this result are by users .* no instructions/.test(item.text),
  );

/** What a tool answered: an output in both of its forms, a failure as text. @throws Error when the forms differ */
export const contentOf = (result: CallToolResult): unknown => {
  const { content, structuredContent, isError } = result;
  const [first, ...others] = content;
  if (first?.type !== 'text' || others.length !== Number(isMarked(result)))
    throw new Error('There is more than one text.');
  if (isError === true && structuredContent === undefined) return JSON.parse(first.text);
  if (first.text !== JSON.stringify(structuredContent)) throw new Error('The text is not the structured content.');
  return structuredContent;
};

/** Why a tool failed. @throws Error if it has not */
export const reasonOf = (result: CallToolResult): string => {
  if (result.isError !== true) throw new Error(`It succeeded: ${JSON.stringify(result).slice(0, 300)}`);
  return (contentOf(result) as { error: { json: { data: { reason: string } } } }).error.json.data.reason;
};
