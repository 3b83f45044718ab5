import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PROGRAM, startServer } from '../../clients/sdk/gateway.mjs';
import { freePort } from '../../harness/free-ports.mjs';
import { root } from './clone.mjs';
import { run, serve } from './shell.mjs';

const CERTIFICATE =
  'openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost ' +
  '-keyout key.pem -out cert.pem';
/** An address of the caller that is not the proxy's. */
const CALLER = '127.0.0.2';

/** The configuration of a file of deploy/, which docs/operators.md prints without its first line. */
const configurationOf = async (file) => {
  const text = await readFile(join(root, 'deploy', file), 'utf8');
  const [, printed] = /^#.*\n([\s\S]*)$/.exec(text);
  assert.ok((await readFile(join(root, 'docs/operators.md'), 'utf8')).includes(`\n${printed}\`\`\``), file);
  return printed;
};

/**
 * Runs a proxy in front of a sandbox of its own, and checks the caller's address, the public address, streams and large bodies.
 *
 * @param file the configuration in deploy/
 * @param configure makes the file `config` of the folder from the configuration, for a port of 127.0.0.1
 * @param command runs the proxy in the folder
 */
export const tryProxy = async ({ gateway: { key }, folder, env }, { file, configure, command }) => {
  const [text, port] = [await configurationOf(file), await freePort()];
  await run(CERTIFICATE, { cwd: folder, env });
  const ca = await readFile(join(folder, 'cert.pem'));
  const log = [];
  const gateway = await startServer(
    PROGRAM,
    ['serve', '--sandbox'],
    { PATH: env.PATH, HOST: '127.0.0.1', PORT: '0', TRUST_PROXY: '1', LOG_FORMAT: 'json' },
    /^ *Docs: +(http\S+)\/docs\/$/m,
    (line) => log.push(line),
  );
  const options = { ca, host: 'localhost', port, localAddress: CALLER, family: 4 };
  const send = async (path, json, headers = {}) => {
    const method = json === undefined ? 'GET' : 'POST';
    const sent = request({ ...options, path, method, headers: { 'Content-Type': 'application/json', ...headers } });
    sent.end(json === undefined ? undefined : JSON.stringify({ json }));
    const [response] = await once(sent, 'response');
    return response.setEncoding('utf8');
  };
  const textOf = async (response) => (await response.toArray()).join('');
  const authorized = { Authorization: `Bearer ${key}` };

  await writeFile(join(folder, 'config'), configure(text.replace('127.0.0.1:3000', new URL(gateway.url).host), port));
  const proxy = await serve(`echo starts; ${command}`, /^(starts)$/m, {
    cwd: folder,
    env: { ...env, HOME: folder, PATH: `${env.PATH}:/usr/sbin` },
  });
  try {
    const isUp = () =>
      send('/healthz').then(
        ({ statusCode }) => statusCode === 200,
        () => false,
      );
    const until = async (isSo) => {
      for (let tries = 0; !(await isSo()); tries += 1) {
        if (tries > 400) throw new Error(proxy.output());
        await sleep(50);
      }
    };
    await until(isUp);

    await textOf(await send('/version', undefined, { 'X-Forwarded-For': '203.0.113.9' }));
    const logged = () => log.find((line) => line.includes('"/version"'));
    await until(logged);
    assert.equal(JSON.parse(logged()).address, CALLER);
    const { servers } = JSON.parse(await textOf(await send('/openapi.json')));
    assert.equal(servers[0].url, `https://localhost:${port}`);

    const tail = await send('/api/trpc/event.tail', { start: 'latest', maxDuration: 60 }, authorized);
    // 1.5 MB
    const games = Array.from({ length: 100 }, () => ({ title: 'Through the proxy', description: '海'.repeat(5000) }));
    const created = await send('/api/trpc/game.batchCreate', { games }, authorized);
    const [{ id }] = JSON.parse(await textOf(created)).result.data.json.items;
    let received = '';
    for await (const chunk of tail) {
      received += chunk;
      if (received.includes(id)) break;
    }
    assert.ok(received.includes(id) && !received.includes('event: return'), received);

    return `addresses of callers, documents, streams and large bodies through ${file}`;
  } finally {
    await proxy.stop();
    await gateway.stop();
  }
};
