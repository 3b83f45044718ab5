import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { copyFile, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, promisify } from 'node:util';
import { startRecorder } from '../harness/http/recorder.mjs';
import { root } from './support/clone.mjs';
import { operations } from './support/document.mjs';
import { Lacking } from './support/lacking.mjs';
import { generatorPackages, generatorPython, goTool, need } from './support/tools.mjs';

const execute = promisify(execFile);
const LIMIT = { timeout: 900_000, maxBuffer: 2 ** 26 };
const clients = fileURLToPath(new URL('clients/', import.meta.url));
const GENERATE = fileURLToPath(new URL('tools/generators/Generate.java', import.meta.url));
/** For a Java that gains nothing from code that is optimized at length. */
const SHORT_LIVED = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];
const guide = await readFile(join(root, 'docs/generators.md'), 'utf8');

/** The documents, by the version of OpenAPI that the guide names. */
const DOCUMENTS = { 3.1: '/openapi.json', '3.0': '/openapi-3.0.json' };

const pascal = (id) => id.replaceAll(/(?:^|\.)([a-z])/g, (_, letter) => letter.toUpperCase());
const camel = (id) => pascal(id).replace(/^./, (letter) => letter.toLowerCase());
const snake = (id) => camel(id).replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const filesIn = async (folder, ending) =>
  (await readdir(folder, { recursive: true }))
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));

/** The program of openapi-generator. @throws Lacking */
const openapiGenerator = async () => {
  try {
    return (await execute(join(root, 'openapi/sdk/java/generator'), [], LIMIT)).stdout.trim();
  } catch (error) {
    throw new Lacking(`openapi-generator cannot be had: ${error.stderr || error.message}`);
  }
};

/**
 * Has openapi-generator make clients. From the 3.0 document, it says no word of warning unless it always does.
 *
 * @param works as `play` gets them, of generators with `byOpenapiGenerator`
 */
const makeByOpenapiGenerator = async (works) => {
  const runs = works.map(({ name, version, source, client, folder }) => {
    const { of = name, options = [], warns = false } = GENERATORS[name].byOpenapiGenerator;
    const lines = ['generate', '-g', of, '-i', source, '-o', client, ...options];
    return { file: join(folder, 'arguments'), text: lines.join('\n'), isSilent: version === '3.0' && !warns };
  });
  for (const { file, text } of runs) await writeFile(file, text);
  // Those first that have to be silent: it may tell a warning but once.
  const files = runs.toSorted((one, other) => other.isSilent - one.isSilent).map(({ file }) => file);
  const args = [...SHORT_LIVED, '-cp', await openapiGenerator(), GENERATE, ...files];
  const { stdout } = await execute('java', args, LIMIT);
  const told = new Map(
    stdout
      .split(/^=== /m)
      .slice(1)
      .map((text) => [text.split('\n', 1)[0], text]),
  );
  for (const { file, isSilent } of runs) {
    const warnings = told.get(file).match(/^.*\b(?:WARN|ERROR)\b.*$/gm) ?? [];
    if (isSilent && warnings.length > 0) throw new Error([file, ...warnings].join('\n'));
  }
};

/** The lines of a program in the guide, in a language that only one block there is in. */
const printed = (language) => {
  const [, lines] = new RegExp(`^\`\`\`${language}\n(.+?)^\`\`\`$`, 'ms').exec(guide) ?? [];
  if (!lines) throw new Error(`docs/generators.md has no block in ${language}.`);
  return lines;
};

/** A message as a webhook gets it, and its secret. */
const message = () => {
  const secret = `whsec_${Buffer.from('a secret of thirty-two characters').toString('base64')}`;
  const body = JSON.stringify({ type: 'webhook.test', timestamp: new Date().toISOString(), data: {} });
  const time = String(Math.floor(Date.now() / 1000));
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`message.${time}.${body}`).digest('base64');
  const headers = {
    'Webhook-Id': 'message',
    'Webhook-Timestamp': time,
    'Webhook-Signature': `v1,other v1,${signature}`,
  };
  return JSON.stringify({ body, headers, secret });
};

/**
 * Runs a program that makes three games, lists them two by two, and takes a message and refuses three, by what the guide prints:
 * while each of its calls fails at first, so it has to try again, with the same key.
 */
const callByGuide = async ([command, ...args], { folder, gateway, title, env }) => {
  const keyOf = (headers) => headers['idempotency-key'];
  const attemptsOf = (key, exchanges) => exchanges.filter(({ headers }) => keyOf(headers) === key).length;
  const refuses = (headers, before) => attemptsOf(keyOf(headers), before) === 0;
  const recorder = await startRecorder(gateway.url, { refuses });
  try {
    const own = { ...env, GATEWAY_URL: recorder.url, TITLE: title, MESSAGE: message() };
    const { stdout } = await execute(command, args, { ...LIMIT, cwd: folder, env: own });
    const wanted = [title, title, title, 'webhook.test', 'refused', 'refused', 'refused'];
    if (!isDeepStrictEqual(stdout.trim().split('\n'), wanted)) throw new Error(`it printed:\n${stdout}`);
    const keys = new Set(recorder.exchanges.map(({ headers }) => keyOf(headers)));
    const attempts = [...keys].map((key) => attemptsOf(key, recorder.exchanges));
    if (attempts.length !== 5 || attempts.some((count) => count !== 2))
      throw new Error(`attempts: ${attempts.join(', ')}`);
  } finally {
    await recorder.stop();
  }
};

/** Runs a program that makes a game and reads it. */
const call = async (command, args, { folder, env, more }) => {
  const { stdout } = await execute(command, args, { ...LIMIT, cwd: folder, env: { ...env, ...more } });
  if (stdout.trim() !== '星の伝説') throw new Error(`it printed:\n${stdout}`);
};

/** @throws Lacking unless a command line that loads a library ends well */
const needLibrary = async ([command, ...args]) => {
  try {
    await execute(command, args, LIMIT);
  } catch (error) {
    throw new Lacking(`this machine lacks what clients in ${command} need: ${error.message}`);
  }
};

const byTypescript = (name, place = 'client') => ({
  needs: ['npm'],
  ending: '.ts',
  client: `src/${place}`,
  compile: async ({ folder }) => {
    const modules = await generatorPackages();
    await symlink(modules, join(folder, 'node_modules'));
    await copyFile(join(clients, `${name}.ts`), join(folder, 'src/call.ts'));
    await copyFile(join(clients, 'tsconfig.json'), join(folder, 'tsconfig.json'));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await execute(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], LIMIT);
  },
  call: (work) => call(process.execPath, ['out/call.js'], work),
});

const byPython = (name) => ({
  needs: ['python3'],
  ending: '.py',
  compile: async ({ client }) => execute(await generatorPython(), ['-m', 'compileall', '-q', client], LIMIT),
  call: async (work) =>
    call(await generatorPython(), [join(clients, `${name}.py`)], { ...work, more: { PYTHONPATH: work.client } }),
});

const byGo = (name) => ({
  needs: ['go'],
  ending: '.go',
  compile: async ({ folder }) => {
    await copyFile(join(clients, `${name}.go`), join(folder, 'main.go'));
    for (const file of ['go.mod', 'go.sum']) await copyFile(join(clients, file), join(folder, file));
    await execute('go', ['vet', '.'], { ...LIMIT, cwd: folder });
  },
  call: (work) => call('go', ['run', '.'], work),
});

/** A client in a language whose sources its command runs as they are. */
const byScript = (command, ending, mend) => ({
  ending,
  byOpenapiGenerator: {},
  compile: async ({ folder }) => {
    await mend?.(folder);
    await execute(command, [join(clients, `load${ending}`)], { ...LIMIT, cwd: folder });
  },
  call: async (work) => {
    await writeFile(join(work.folder, `gateway${ending}`), printed(command));
    await copyFile(join(clients, `call${ending}`), join(work.folder, `call${ending}`));
    await callByGuide([command, `call${ending}`], work);
  },
});

/**
 * The generators as the guide names them: what becomes of the client from each document; how it is made, by openapi-generator with
 * the options of `byOpenapiGenerator` or by `make`, compiled and called; and what its sources, which end with `ending`, have of an
 * operation.
 */
const GENERATORS = {
  php: {
    documents: { 3.1: 'called', '3.0': 'called' },
    needs: ['java', 'mvn', 'php'],
    library: ['php', '-r', 'require "GuzzleHttp/autoload.php"; mb_strlen("");'],
    method: (id) => `function ${camel(id)}(`,
    ...byScript('php', '.php', (folder) => execute('sh', ['-ec', printed('sh')], { ...LIMIT, cwd: folder })),
  },
  ruby: {
    documents: { 3.1: 'called', '3.0': 'called' },
    needs: ['java', 'mvn', 'ruby'],
    library: ['ruby', '-r', 'typhoeus', '-e', ''],
    method: (id) => `def ${snake(id)}(`,
    ...byScript('ruby', '.rb'),
  },
  kotlin: {
    documents: { 3.1: 'made', '3.0': 'called' },
    needs: ['java', 'mvn'],
    ending: '.kt',
    method: (id) => `fun ${camel(id)}(`,
    byOpenapiGenerator: {},
    compile: async ({ client }) => {
      await copyFile(new URL('tools/kotlin/pom.xml', import.meta.url), join(client, 'pom.xml'));
      await copyFile(join(clients, 'call.kt'), join(client, 'src/main/kotlin/Call.kt'));
      await writeFile(join(client, 'src/main/kotlin/Gateway.kt'), printed('kotlin'));
      await execute('mvn', ['-q', '-B', 'compile', 'dependency:copy-dependencies'], {
        ...LIMIT,
        cwd: client,
        env: { ...process.env, MAVEN_OPTS: SHORT_LIVED.join(' ') },
      });
    },
    call: (work) =>
      callByGuide(
        ['java', ...SHORT_LIVED, '-cp', `${work.client}/target/classes:${work.client}/target/dependency/*`, 'CallKt'],
        work,
      ),
  },
  csharp: {
    documents: { 3.1: 'made', '3.0': 'made' },
    needs: ['java', 'mvn'],
    ending: '.cs',
    method: (id) => `${pascal(id)}Async(`,
    byOpenapiGenerator: {},
  },
  python: {
    documents: { 3.1: 'does not compile', '3.0': 'called' },
    method: (id) => `def ${snake(id)}(`,
    byOpenapiGenerator: { warns: true },
    ...byPython('openapi-generator'),
  },
  'typescript-fetch': {
    documents: { 3.1: 'does not compile', '3.0': 'called' },
    method: (id) => `async ${camel(id)}(`,
    byOpenapiGenerator: { options: ['-p', 'importFileExtension=.js'] },
    ...byTypescript('typescript-fetch'),
  },
  'hey-api': {
    documents: { 3.1: 'called', '3.0': 'called' },
    method: (id) => `export const ${camel(id)} =`,
    make: async ({ source, client, folder }) => {
      const config = { input: source, output: { path: client, importFileExtension: '.js' } };
      await writeFile(join(folder, 'openapi-ts.config.mjs'), `export default ${JSON.stringify(config)};`);
      await execute(join(await generatorPackages(), '.bin/openapi-ts'), [], { ...LIMIT, cwd: folder });
    },
    ...byTypescript('hey-api'),
  },
  'openapi-typescript': {
    documents: { 3.1: 'called', '3.0': 'called' },
    method: (id) => `"/api/trpc/${id}": {`,
    make: async ({ source, client, folder }) => {
      const program = join(await generatorPackages(), '.bin/openapi-typescript');
      const args = [source, '-o', join(client, 'schema.ts'), '--default-non-nullable=false'];
      await execute(program, args, { ...LIMIT, cwd: folder });
    },
    ...byTypescript('openapi-typescript'),
  },
  'openapi-python-client': {
    documents: { 3.1: 'called', '3.0': 'made' },
    method: (id) => `"url": "/api/trpc/${id}"`,
    make: async ({ source, client }) => {
      const args = ['-m', 'openapi_python_client', 'generate', '--url', source, '--output-path', client, '--overwrite'];
      await execute(await generatorPython(), args, LIMIT);
    },
    ...byPython('openapi-python-client'),
  },
  'oapi-codegen': {
    documents: { 3.1: 'called', '3.0': 'called' },
    method: (id) => `) ${pascal(id)}WithResponse(`,
    make: async ({ source, client }) => {
      const options = ['-generate', 'types,client', '-package', 'client', '-o', join(client, 'client.go')];
      await execute('go', ['tool', 'oapi-codegen', ...options, source], {
        ...LIMIT,
        cwd: join(root, 'openapi/sdk/go'),
      });
    },
    ...byGo('oapi-codegen'),
  },
  go: {
    documents: { 3.1: 'called', '3.0': 'called' },
    method: (id) => `) ${pascal(id)}(ctx context.Context)`,
    byOpenapiGenerator: {
      options: [
        '-p',
        'enumClassPrefix=true,packageName=client,withGoMod=false',
        '--global-property',
        'apiTests=false,modelTests=false',
      ],
    },
    ...byGo('openapi-generator'),
  },
  ogen: {
    documents: { 3.1: 'called', '3.0': 'called' },
    method: (id) => `func (c *Client) ${pascal(id)}(`,
    make: async ({ source, client, folder }) => {
      // It reads files only.
      const file = join(folder, 'document.json');
      await writeFile(file, await (await fetch(source)).text());
      const program = await goTool('ogen', 'github.com/ogen-go/ogen/cmd/ogen');
      await execute(program, ['--target', client, '--package', 'client', '--clean', file], LIMIT);
    },
    ...byGo('ogen'),
  },
  orval: {
    documents: { 3.1: 'called', '3.0': 'called' },
    method: (id) => `export const ${camel(id)} =`,
    make: async ({ source, client, folder, gateway }) => {
      const output = { target: join(client, 'client.ts'), client: 'fetch', baseUrl: gateway.url };
      const config = { gateway: { input: source, output } };
      await writeFile(join(folder, 'orval.config.mjs'), `export default ${JSON.stringify(config)};`);
      await execute(join(await generatorPackages(), '.bin/orval'), [], { ...LIMIT, cwd: folder });
    },
    ...byTypescript('orval'),
  },
  'swagger-typescript-api': {
    documents: { 3.1: 'called', '3.0': 'called' },
    method: (id) => `${camel(id)}: (`,
    make: async ({ source, client, folder }) => {
      const program = join(await generatorPackages(), '.bin/swagger-typescript-api');
      await execute(program, ['generate', '-p', source, '-o', client, '-n', 'client.ts'], { ...LIMIT, cwd: folder });
    },
    ...byTypescript('swagger-typescript-api'),
  },
};

/** What the guide says becomes of a client: by generator, and then by document. */
const table = Object.fromEntries(
  [...guide.matchAll(/^\|[^|]*`([\w-]+)`[^|]*\| ([^|]+?) +\| ([^|]+?) +\|$/gm)].map(([, name, newer, older]) => [
    name,
    { 3.1: newer, '3.0': older },
  ]),
);

/** A client to make in a folder of its own. */
const workOf = async (name, version, { gateway, folder, env }) => {
  const { client = 'client' } = GENERATORS[name];
  const own = join(folder, `${name}-${version}`);
  const source = gateway.url + DOCUMENTS[version];
  const work = { name, version, source, gateway, env, folder: own, client: join(own, client) };
  await mkdir(work.client, { recursive: true });
  return { ...work, title: `${name} ${version}` };
};

/** Makes a client unless it is made, looks for each operation in it, compiles it and calls by it, as far as the guide says. */
const play = async (work) => {
  const { documents, ending, method, make, compile, call: use } = GENERATORS[work.name];
  await make?.(work);
  const sources = await Promise.all((await filesIn(work.client, ending)).map((file) => readFile(file, 'utf8')));
  const missing = operations.filter(({ id }) => !sources.some((text) => text.includes(method(id))));
  if (missing.length > 0) throw new Error(`it lacks ${missing.map(({ id }) => id).join(', ')}`);
  const result = documents[work.version];
  if (result === 'made') return;
  const failure = await compile(work).then(
    () => undefined,
    (error) => error,
  );
  if (result === 'does not compile') {
    if (!failure) throw new Error('it compiles: the guide says that it does not');
    return;
  }
  if (failure) throw failure;
  await use(work);
};

/** Makes clients by other generators from both documents. */
export const recipe = async (given) => {
  const done = Object.fromEntries(Object.entries(GENERATORS).map(([name, { documents }]) => [name, documents]));
  if (!isDeepStrictEqual(table, done))
    throw new Error(`docs/generators.md says ${JSON.stringify(table)}, not ${JSON.stringify(done)}`);
  const commands = new Set(Object.values(GENERATORS).flatMap(({ needs }) => needs));
  for (const command of commands) await need(command);
  for (const { library } of Object.values(GENERATORS)) if (library) await needLibrary(library);
  const works = await Promise.all(
    Object.entries(GENERATORS).flatMap(([name, { documents }]) =>
      Object.keys(documents).map((version) => workOf(name, version, given)),
    ),
  );
  await makeByOpenapiGenerator(works.filter(({ name }) => GENERATORS[name].byOpenapiGenerator));
  for (const work of works) {
    try {
      await play(work);
    } catch (error) {
      if (error instanceof Lacking) throw error;
      const told = [error.message, error.stdout, error.stderr].filter(Boolean).join('\n');
      throw new Error(`${work.title}: ${told}`, { cause: error });
    }
  }
  const results = Object.values(done).flatMap(Object.values);
  const called = results.filter((result) => result === 'called').length;
  return `${results.length} clients made, each with ${operations.length} operations; ${called} called`;
};
