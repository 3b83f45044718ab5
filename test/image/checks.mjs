import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { CONFINED, variables } from './container.mjs';
import { freePort } from '../harness/free-ports.mjs';
import { buildTarget, guide } from './guide.mjs';
import { instances } from './instances.mjs';
import { compose, kubernetes } from './manifests.mjs';
import { release } from './release.mjs';

const MEGABYTE = 1e6;
const MOST_MEGABYTES = 90;
const GAMES = 40;

const inspect = async (docker, image) => JSON.parse(await docker.run('image', 'inspect', image))[0];

/** Runs a command of the image to its end. @returns `{status, output}` */
const command = (docker, image, { env = {}, options = [] }, ...words) =>
  docker.attempt('run', '--rm', ...CONFINED, ...variables(env), ...options, image, ...words);

/** The same, which must end well. @returns what it printed */
const succeed = async (...rest) => {
  const { status, output } = await command(...rest);
  assert.equal(status, 0, output);
  return output;
};

/** A user with a key for everything. */
const keyOf = async (container) => {
  const cli = ['node', 'dist/src/cli.js'];
  const user = await container.exec(...cli, 'users', 'create', '--nickname', 'Operator');
  assert.equal(user.status, 0, user.output);
  // Beside it stands which database it is.
  const [id] = /^[\da-f-]{36}$/m.exec(user.output) ?? assert.fail(user.output);
  const scopes = 'content:write,user:read,user:write';
  const made = await container.exec(...cli, 'keys', 'create', '--user', id, '--scopes', scopes);
  const [key] = /cgk_\w+/.exec(made.output) ?? assert.fail(made.output);
  return key;
};

/** By name, each an act that gets what it needs, returns what it found in few words, and throws if that is wrong. */
export const checks = {
  // Of the two that take longest, this one waits the most.
  instances,
  release,
  guide,
  compose,
  kubernetes,

  size: async ({ docker, base, image }) => {
    const [all, below] = await Promise.all([inspect(docker, image), inspect(docker, base)]);
    const megabytes = (all.Size - below.Size) / MEGABYTE;
    assert.ok(megabytes <= MOST_MEGABYTES, `${megabytes.toFixed(0)} MB on top of the base`);
    return `${megabytes.toFixed(0)} MB on top of the base's ${(below.Size / MEGABYTE).toFixed(0)} MB`;
  },

  settings: async ({ docker, image, sandbox, root }) => {
    const { Config } = await inspect(docker, image);
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const label = (name) => Config.Labels[`org.opencontainers.image.${name}`];
    assert.equal(Config.User, '1000:1000', 'Kubernetes reads numbers only');
    assert.equal(label('version'), version, 'the version of package.json');
    assert.equal(label('revision'), execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim());
    assert.equal(label('licenses'), 'MIT');
    assert.deepEqual(Config.Cmd, ['serve']);
    assert.deepEqual((await inspect(docker, sandbox)).Config.Cmd, ['serve', '--sandbox']);
  },

  'holds only what it needs': async ({ docker, image }) => {
    const list = ['run', '--rm', '--entrypoint', 'sh', image, '-c'];
    const files = (await docker.run(...list, 'find /gateway -not -path "*/node_modules/*/*"')).split('\n');
    for (const none of [
      'test',
      'src/app/server.ts',
      '.git',
      '.npmrc',
      'node_modules/jest',
      'node_modules/typescript',
    ]) {
      assert.ok(!files.includes(`/gateway/${none}`), none);
    }
    assert.ok(files.includes('/gateway/node_modules/express'));
    // What a build was told of its registry.
    assert.equal(await docker.run(...list, 'find / -xdev -name .npmrc -size +0 2>/dev/null || true'), '');
    const others = await docker.run(...list, 'find /gateway -writable -not -type l | head -n 3');
    assert.equal(others, '', 'what the service may change of itself');
    return `${files.filter((path) => path.startsWith('/gateway/node_modules/')).length} packages and folders of them`;
  },

  serves: async ({ docker, image, start }) => {
    const volume = await docker.run('volume', 'create');
    const options = ['--volume', `${volume}:/data`];
    try {
      const migrated = await succeed(docker, image, { options }, 'migrate');
      assert.match(migrated, /^\w+\d+$/m, 'the names of what was applied');
      assert.doesNotMatch(await succeed(docker, image, { options }, 'migrate', '--status'), /pending/);

      const container = await start({ image, options, env: { RATE_LIMIT: 'off' } });
      await container.ready();
      assert.match((await container.exec('id')).output, /uid=1000\(node\)/);
      const key = await keyOf(container);
      const verified = await succeed(docker, image, { env: { GATEWAY_KEY: key } }, 'verify', container.url);
      const [summary] = /\d+ checks: .*?(?=, in )/.exec(verified) ?? assert.fail(verified);

      // Stopped while games come in.
      const answered = [];
      let isOver = false;
      const publish = async () => {
        for (let turn = 0; !isOver; turn += 1) {
          const title = `Game ${answered.length}-${turn}`;
          const { status, output } = await container
            .call('game.create', { title, gameType: 'ADV' }, key)
            .catch(() => ({ status: undefined }));
          if (status !== 200) return;
          answered.push(output.id);
          if (answered.length === GAMES) reached();
        }
      };
      let reached;
      const enough = new Promise((resolve) => {
        reached = resolve;
      });
      const publishing = Promise.all(Array.from({ length: 4 }, publish));
      await enough;
      const stopped = await container.stop();
      isOver = true;
      await publishing;
      assert.equal(stopped.status, 0, await container.log());
      assert.match(await container.log(), /"msg":"stopped"/);

      const again = await start({ image, options, env: { RATE_LIMIT: 'off', WORKERS: 2 } });
      await again.ready();
      for (const id of answered) assert.equal((await again.call('game.getById', { id }, key)).status, 200);
      const second = await again.stop();
      assert.equal(second.status, 0, await again.log());
      return `${summary}; ${answered.length} games survive a stop of ${stopped.seconds.toFixed(1)} s under load`;
    } finally {
      await docker.attempt('volume', 'rm', '--force', volume);
    }
  },

  'without a volume': async ({ image, start }) => {
    const container = await start({ image });
    await container.ready();
    assert.doesNotMatch(await container.log(), /cgk_/, 'no key in a log');
  },

  health: async ({ docker, image, start }) => {
    const container = await start({ image, options: ['--health-interval=1s', '--health-retries=1'] });
    await container.ready();
    await container.becomes('healthy');
    const asked = await container.exec('bash', '/gateway/deploy/image/health');
    assert.deepEqual(asked, { status: 0, output: '' });
    // The first process stands still: nobody answers.
    await container.kill('STOP');
    await container.becomes('unhealthy');
    await container.kill('CONT');
    await container.becomes('healthy');
    const nobody = ['--entrypoint', 'bash', ...variables({ PORT: await freePort(), HOST: '0.0.0.0' })];
    const refused = await command(docker, image, { options: nobody }, '/gateway/deploy/image/health');
    assert.equal(refused.status, 1);
    assert.match(refused.output, /refuses connections/);
  },

  'commands end by signals': async ({ image, start }) => {
    // It waits for an answer that never comes.
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    try {
      for (const [signal, expected] of [
        ['SIGINT', 130],
        ['SIGTERM', 143],
      ]) {
        const asked = once(silent, 'connection');
        const container = await start({ image, command: ['verify', `http://127.0.0.1:${silent.address().port}`] });
        await asked;
        await container.kill(signal);
        assert.equal(await container.ended(), expected);
      }
    } finally {
      silent.close();
    }
  },

  'says what it may not write': async ({ docker, image, work }) => {
    const folder = join(work, 'of-root');
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    const mounted = await command(docker, image, { options: ['--volume', `${folder}:/data`] });
    assert.equal(mounted.status, 1, mounted.output);
    assert.match(mounted.output, /^error: .*\/data/m);
    assert.doesNotMatch(mounted.output, /^ +at /m, 'no stack');
    const other = await command(docker, image, { options: ['--user', '4711:4711'] });
    assert.equal(other.status, 1, other.output);
    assert.match(other.output, /^error: .*\/data/m);
    return mounted.output.trim().split('\n').at(-1);
  },

  'any user': async ({ image, work, start }) => {
    const folder = join(work, 'of-another');
    mkdirSync(folder, { mode: 0o700 });
    chownSync(folder, 4711, 4711);
    const options = ['--user', '4711:4711', '--volume', `${folder}:/data`];
    await (await start({ image, options })).ready();
  },

  'backup of a server': async ({ docker, root, work }) => {
    const image = 'content-gateway-backup';
    await buildTarget({ docker, root, work }, image, 'backup');
    const { Config } = await inspect(docker, image);
    assert.equal(Config.User, '1000:1000');
    const found = await command(docker, image, { options: ['--entrypoint', 'mariadb-dump'] }, '--version');
    assert.equal(found.status, 0, found.output);
    // It finds the tool, and no server.
    const env = { DATABASE_URL: `mysql://u:p@127.0.0.1:${await freePort()}/content` };
    const backup = await command(docker, image, { env }, 'backup', '/data');
    assert.equal(backup.status, 1, backup.output);
    assert.match(backup.output, /^error: .*database/im);
    return found.output.trim();
  },

  sandbox: async ({ sandbox, start }) => {
    const container = await start({ image: sandbox });
    await container.ready();
    const key = 'cgk_sandboxAll00000000000000000000002FwSwT';
    assert.equal((await container.call('game.create', { title: 'Of a test', gameType: 'ADV' }, key)).status, 200);
    assert.ok((await container.call('game.list', { limit: 5, page: 1 })).output.items.length > 0);
  },
};
