// A registry of crates on loopback, as cargo wants one: it publishes there by its own client, and installs from there.
// https://doc.rust-lang.org/cargo/reference/registry-index.html
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

const pathOf = (name) => {
  if (name.length < 3) return `${name.length}/${name}`;
  return name.length === 3 ? `3/${name[0]}/${name}` : `${name.slice(0, 2)}/${name.slice(2, 4)}/${name}`;
};

/** A line of the index, of what cargo says of the crate that it publishes. */
const entryOf = ({ name, vers, deps, features, links }, bytes) => ({
  name,
  vers,
  deps: deps.map(({ explicit_name_in_toml: alias, version_req: req, ...rest }) => ({
    ...rest,
    req,
    name: alias ?? rest.name,
    ...(alias && { package: rest.name }),
  })),
  cksum: createHash('sha256').update(bytes).digest('hex'),
  features: {},
  features2: features,
  yanked: false,
  links,
  v: 2,
});

/** The two parts of what cargo sends, each after its length. */
const partsOf = (body) => {
  const length = body.readUInt32LE(0);
  return [JSON.parse(body.subarray(4, 4 + length).toString()), body.subarray(8 + length)];
};

/** Starts it. Returns its `index`, the `token` to publish with, `crates` by `<name>/<version>`, each `{entry, bytes}`, and `stop`. */
export const startCrates = async () => {
  const token = 'token-of-a-publisher';
  const crates = new Map();
  const answers = {
    GET: (path) => {
      if (path === '/index/config.json') return JSON.stringify({ dl: `${url}/crates/{crate}/{version}`, api: url });
      const [, crate] = /^\/crates\/(.+)$/.exec(path) ?? [];
      if (crate) return crates.get(crate)?.bytes;
      const found = [...crates.values()].filter(({ entry }) => path === `/index/${pathOf(entry.name)}`);
      return found.length === 0 ? undefined : found.map(({ entry }) => `${JSON.stringify(entry)}\n`).join('');
    },
    PUT: (path, body) => {
      if (path !== '/api/v1/crates/new') return undefined;
      const [description, bytes] = partsOf(body);
      const entry = entryOf(description, bytes);
      const key = `${entry.name}/${entry.vers}`;
      if (crates.has(key)) return JSON.stringify({ errors: [{ detail: `${key} is there already` }] });
      crates.set(key, { entry, bytes });
      return JSON.stringify({ warnings: { invalid_categories: [], invalid_badges: [], other: [] } });
    },
  };
  const answer = async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const isAllowed = request.method === 'GET' || request.headers.authorization === token;
    const text = isAllowed ? answers[request.method]?.(request.url, body) : '{"errors":[{"detail":"no token"}]}';
    response.writeHead(text === undefined ? 404 : isAllowed ? 200 : 403).end(text);
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}`;
  return {
    index: `sparse+${url}/index/`,
    token,
    crates,
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
