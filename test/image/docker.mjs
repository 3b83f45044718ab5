// A Docker of our own, from the packages of the system: apart from one that runs already, and without networks, so that it runs
// where nothing may be changed in the kernel's tables. What it has built is kept for the next run.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Lacking } from '../recipes/support/lacking.mjs';

const execute = promisify(execFile);

/** The second works on any file system, but copies each layer. */
const DRIVERS = ['overlay2', 'vfs'];
const START_SECONDS = 60;
const BUILD_SECONDS = 600;
const KEPT = '4gb';

/** What ended without success: its status, and what it printed. */
const failureOf = (error) => new Error((error.stderr || error.stdout || error.message).trim().slice(-4000));

/** The client of the same package: a newer one may lack what it needs to build. */
const clientOf = async () => {
  for (const client of ['docker', '/usr/bin/docker']) {
    try {
      const { stdout } = await execute(client, ['build', '--help'], { env: { ...process.env, DOCKER_BUILDKIT: '1' } });
      if (stdout.includes('--secret')) return client;
    } catch {
      // Not this one.
    }
  }
  throw new Lacking('no client of Docker can build with BuildKit');
};

/** Starts the daemon with a driver for its layers; resolves when it can be asked, with `undefined` if it ended. */
const startDaemon = async (driver, { data, work, address }) => {
  const options = ['--bridge=none', '--iptables=false', '--ip6tables=false', `--storage-driver=${driver}`];
  const places = ['--data-root', data, '--exec-root', join(work, 'run'), '--pidfile', join(work, 'pid'), '-H', address];
  const lock = ['--no-fork', '--nonblock', '--conflict-exit-code', '75', `${data}.lock`];
  const daemon = spawn('flock', [...lock, 'dockerd', ...options, ...places], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  const listening = new Promise((resolve) => {
    createInterface(daemon.stderr).on('line', (line) => {
      log = `${log}\n${line}`.slice(-4000);
      if (line.includes('API listen on')) resolve(daemon);
    });
  });
  const ended = once(daemon, 'exit').then(([status]) => {
    if (status === 75) throw new Lacking('another run of this test is under way');
    return undefined;
  });
  const late = setTimeout(() => daemon.kill('SIGKILL'), START_SECONDS * 1000);
  const started = await Promise.race([listening, ended]);
  clearTimeout(late);
  return { daemon: started, log };
};

/**
 * @param folder where it keeps what it has built
 * @returns `run`, which calls the client and returns what it printed, trimmed; `attempt`, which returns `{status, output}`
 *   instead of throwing; `lines`, which calls it for as long as its lines are read; its `program`, and the `env` that has it find
 *   this Docker; and `stop`
 * @throws Lacking
 */
export const startDocker = async (folder) => {
  if (process.platform !== 'linux' || process.getuid() !== 0) throw new Lacking('Docker needs Linux, and root');
  for (const program of ['dockerd', 'debootstrap', 'flock']) {
    await execute('sh', ['-c', `command -v ${program}`]).catch(() => {
      throw new Lacking(`this machine lacks ${program}`);
    });
  }
  const client = await clientOf();
  const work = mkdtempSync(join(tmpdir(), 'image-'));
  const address = `unix://${join(work, 'socket')}`;
  let daemon;
  let log = '';
  for (const driver of DRIVERS) {
    const data = join(folder, `docker-${driver}`);
    mkdirSync(data, { recursive: true });
    ({ daemon, log } = await startDaemon(driver, { data, work, address }));
    if (daemon) break;
    if (driver !== DRIVERS.at(-1)) rmSync(data, { recursive: true, force: true });
  }
  if (!daemon) {
    rmSync(work, { recursive: true, force: true });
    throw new Lacking(`dockerd does not start:${log.split('\n').slice(-3).join('\n  ')}`);
  }
  const env = { ...process.env, DOCKER_HOST: address, DOCKER_BUILDKIT: '1', DOCKER_CONFIG: join(work, 'client') };
  delete env.DOCKER_CONTEXT;

  const run = async (...words) => {
    try {
      const { stdout } = await execute(client, words, { env, timeout: BUILD_SECONDS * 1000, maxBuffer: 2 ** 27 });
      return stdout.trim();
    } catch (error) {
      throw failureOf(error);
    }
  };

  const attempt = async (...words) => {
    const child = spawn(client, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    const [status] = await once(child, 'close');
    return { status, output };
  };

  const lines = async function* lines(...words) {
    const child = spawn(client, words, { env, stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      yield* createInterface(child.stdout);
    } finally {
      child.kill();
    }
  };

  const remains = await run('ps', '--all', '--quiet');
  if (remains !== '') await run('rm', '--force', '--volumes', ...remains.split('\n'));

  return {
    program: client,
    env,
    run,
    attempt,
    lines,
    stop: async () => {
      await attempt('image', 'prune', '--force');
      await attempt('builder', 'prune', '--force', '--keep-storage', KEPT);
      const ended = once(daemon, 'exit');
      daemon.kill('SIGTERM');
      await ended;
      // Left by it: what containers on the host's network share.
      await execute('umount', [join(work, 'run/netns/default')]).catch(() => undefined);
      rmSync(work, { recursive: true, force: true });
    },
  };
};
