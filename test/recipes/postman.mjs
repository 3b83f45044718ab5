import { promisify } from 'node:util';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { packages } from './support/tools.mjs';

/** The requests of a collection and of the folders in it. */
const requestsIn = ({ item, request }) => (request ? [request] : item.flatMap(requestsIn));

/** Converts the published document as Postman does on import, and sends one of the requests that come of it. */
export const recipe = async ({ gateway }) => {
  const require = createRequire(join(await packages(), 'x'));
  const { convertV2 } = require('openapi-to-postmanv2');
  const data = await (await fetch(`${gateway.url}/openapi.json`)).text();
  const { result, reason, output } = await promisify(convertV2)({ type: 'string', data }, {});
  if (!result) throw new Error(`The converter says: ${reason}`);
  const [{ data: collection }] = output;
  const { value: base } = collection.variable.find(({ key }) => key === 'baseUrl');
  if (base !== gateway.url) throw new Error(`The collection calls ${base}, not ${gateway.url}.`);
  const requests = requestsIn(collection);
  const operations = Object.keys(JSON.parse(data).paths);
  if (requests.length !== operations.length)
    throw new Error(`${requests.length} requests for ${operations.length} operations`);
  const { url, method, body } = requests.find((request) => request.url.path.at(-1) === 'game.getTypeStats');
  const address = `${base}/${url.path.join('/')}`;
  const reply = await fetch(address, { method, body: body.raw, headers: { 'Content-Type': 'application/json' } });
  if (reply.status !== 200) throw new Error(`${method} ${address} answers ${reply.status}: ${await reply.text()}`);
  return `${requests.length} requests to ${base}, one sent: ${reply.status}`;
};
