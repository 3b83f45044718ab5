import { isDeepStrictEqual } from 'node:util';
import { document, faultOf, operations } from './support/document.mjs';
import { blocksAfterInstall } from './support/guide.mjs';
import { freePort } from '../harness/free-ports.mjs';
import { postCall } from '../harness/http/post.mjs';
import { run, serve } from './support/shell.mjs';
import { packages } from './support/tools.mjs';

const LISTENING = /listening on (http:\S+)/;

const call = async (base, { id }, { json }, key) => {
  const response = await postCall(base, id, json, key);
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  const received = await (isStream ? response.text() : response.json());
  return { status: response.status, body: received, violations: response.headers.get('sl-violations') };
};

/** @throws Error that tells what came instead */
const expect = (operation, wanted, { status, body }, fault) => {
  const found = status === wanted ? fault : `${wanted} was expected`;
  if (found) throw new Error(`${operation.id}: ${found}; came ${status} ${JSON.stringify(body).slice(0, 500)}`);
};

const isRefusal = (status) => status >= 400 && status < 500;

/** The mock answers with the document's examples, and refuses what the document does not allow. Returns the calls made. */
const checkMock = async (url, key) => {
  for (const operation of operations) {
    const { example, responses, isPublic } = operation;
    const answered = await call(url, operation, example, key);
    const [{ example: wanted }] = Object.values(responses[200].content);
    const differs = isDeepStrictEqual(answered.body, wanted) ? undefined : "it isn't the document's example";
    expect(operation, 200, answered, faultOf(operation, 200, answered.body) ?? differs);

    const refused = await call(url, operation, { json: { ...example.json, unknown: true } }, key);
    if (!isRefusal(refused.status)) throw new Error(`${operation.id}: a faulty input got ${refused.status}`);
    expect(operation, refused.status, refused, faultOf(operation, refused.status, refused.body));

    const anonymous = await call(url, operation, example);
    expect(operation, isPublic ? 200 : 401, anonymous, faultOf(operation, anonymous.status, anonymous.body));
  }
  return operations.length * 3;
};

/** The example of an operation; of a stream, one that ends soon. */
const soonAnswered = ({ example, isStream }) => (isStream ? { json: { ...example.json, maxDuration: 1 } } : example);

/** Between a client and the sandbox, nothing to complain of in requests or replies. Returns the calls made. */
const checkProxy = async (proxy, key) => {
  // What one operation deletes or ends, the examples of others need.
  const isDeletion = ({ id }) => /\.(?:delete|revoke)$/.test(id);
  for (const operation of operations.toSorted((one, other) => isDeletion(one) - isDeletion(other))) {
    const answered = await call(proxy.found, operation, soonAnswered(operation), key);
    expect(operation, 200, answered, answered.violations ?? faultOf(operation, 200, answered.body));
    // With --errors, what is not as the document wants it does not even reach the gateway.
    const refused = await call(proxy.found, operation, { json: { unknown: true } }, key);
    expect(operation, 422, refused);
  }
  const violations = proxy.output().match(/^.*Violation: response.*$/gm) ?? [];
  if (violations.length > 0) throw new Error(violations.join('\n'));
  return operations.length * 2;
};

export const recipe = async ({ gateway, folder, env }) => {
  const [fetchDocument, mockLines, proxyLines] = blocksAfterInstall('Prism', '@stoplight/prism-cli');
  const PATH = `${await packages()}/.bin:${env.PATH}`;
  const options = async () => ({ cwd: folder, env: { ...env, PATH, MOCK_PORT: String(await freePort()) } });
  await run(fetchDocument, await options());

  const mock = await serve(mockLines, LISTENING, await options());
  let mocked;
  try {
    mocked = await checkMock(mock.found, gateway.key);
  } finally {
    await mock.stop();
  }

  const proxy = await serve(proxyLines, LISTENING, await options());
  try {
    const proxied = await checkProxy(proxy, gateway.key);
    return `${document.info.version}: ${mocked} calls mocked, ${proxied} through the proxy, 0 violations`;
  } finally {
    await proxy.stop();
  }
};
