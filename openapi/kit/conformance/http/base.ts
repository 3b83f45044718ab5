import { redirectOf } from './remote.ts';
import { failureMember, valueAt } from '../values.ts';
import { SERVICE } from '../check.ts';
import { API_PATH } from '../contract/operation.ts';
import { type Client, NoReply } from './client.ts';
import type { Reply } from '../exchange.ts';

/** The path of the published document. */
export const DOCUMENT = '/openapi.json';

/** The ends of URLs that people copy from the address bar, or from a call. */
const APPENDED = /\/(?:api(?:\/trpc(?:\/[\w.,]*)?)?|docs|openapi(?:-3\.0)?\.json|healthz|readyz)$/;

/** The error for a URL without a deployment: no answer, or not that of a gateway. The message says why. */
export class Unreachable extends Error {}

const withoutSlashes = (url: string): string => url.replace(/\/+$/, '');

/** The possible base URLs of the deployment at a URL: the part before the path of a known page, and the URL itself. */
export const basesOf = (url: string): string[] => {
  const given = withoutSlashes(url);
  const above = withoutSlashes(given.replace(APPENDED, ''));
  return [...new Set([above, given])];
};

const describe = ({ status, headers, request }: Reply): string => {
  const redirect = redirectOf(request.url, status, headers.get('location'));
  if (redirect !== undefined) return `${status}: ${redirect}`;
  return `${status} ${headers.get('content-type')?.split(';', 1)[0] ?? 'without a type'}`;
};

/** Whether the API answers below a base, even without a document: only a gateway knows its missing procedures. */
const hasApi = async (client: Client): Promise<boolean> => {
  const headers = { 'Content-Type': 'application/json' };
  const reply = await client.send(SERVICE, `${API_PATH}no.such`, { headers, body: '{}' });
  return failureMember(reply.json, 'reason') === 'PROCEDURE_NOT_FOUND';
};

/** Whether a document describes a gateway, of any version. */
const isDocument = ({ status, json }: Reply): boolean =>
  status === 200 && Object.keys(valueAt(json, ['paths']) ?? {}).some((path) => path.startsWith(API_PATH));

/** Why a base has no gateway; undefined if it has one. */
const objectionTo = async (client: Client): Promise<string | undefined> => {
  try {
    const reply = await client.send(SERVICE, DOCUMENT, { method: 'GET' });
    if (isDocument(reply) || (await hasApi(client))) return undefined;
    const { pathname } = new URL(reply.request.url);
    return `${client.baseUrl} is no content gateway: GET ${pathname} answered ${describe(reply)}.`;
  } catch (error) {
    if (error instanceof NoReply) return `${client.baseUrl} cannot be reached: ${error.fault}.`;
    throw error;
  }
};

/**
 * A client of the deployment at a URL, which may be that of one of its pages.
 * @param clientOf makes a client of the deployment at a base
 * @throws Unreachable
 */
export const findBase = async (url: string, clientOf: (base: string) => Client): Promise<Client> => {
  let objection: string | undefined;
  for (const base of basesOf(url)) {
    const client = clientOf(base);
    objection = await objectionTo(client);
    if (objection === undefined) return client;
  }
  throw new Unreachable(objection);
};
