// What deploy/README.md tells people to type. Docker's lines are typed as they stand, but for what this machine lacks: networks.
// Where nobody can follow, what the lines name must be there.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Container } from './container.mjs';
import { freePort } from '../harness/free-ports.mjs';
import { npmrc } from './npmrc.mjs';

const execute = promisify(execFile);
const MOST_OUTPUT = 2 ** 27;

/** Docker, with the network of this machine instead of ports, and with its registry for packages. */
const STAND_IN = `#!/usr/bin/env bash
set -euo pipefail
words=()
for word in "$@"; do
  if [[ \${skip:-} ]]; then skip=; elif [[ $word == --publish ]]; then skip=yes; else words+=("$word"); fi
done
case $1 in
build) exec "$CLIENT" build --quiet --network host --secret "id=npmrc,src=$NPMRC" "\${words[@]:1}" ;;
run) exec "$CLIENT" run --network host --env "PORT=$PORT" --env HOST=127.0.0.1 "\${words[@]:1}" ;;
*) exec "$CLIENT" "\${words[@]}" ;;
esac
`;

/** The commands of a section, those of several lines in one, and without the shell's marks. */
export const commandsOf = (root, section) => {
  const text = readFileSync(join(root, 'deploy/README.md'), 'utf8');
  const [, rest] = text.split(`\n## ${section}\n`);
  assert.ok(rest, `deploy/README.md has no section ${section}`);
  const [own] = rest.split('\n## ');
  const blocks = [...own.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block.replaceAll(/\\\n\s*/g, ''));
  const inline = [...own.matchAll(/`((?:docker|kubectl) [^`]+)`/g)].map(([, line]) => line);
  return { typed: blocks.flatMap((block) => block.trim().split('\n')), mentioned: inline };
};

/** Types a line of the guide. @returns what it printed, trimmed */
const type = async ({ docker, root, work, port = 0 }, line) => {
  const folder = join(work, 'guide');
  mkdirSync(folder, { recursive: true });
  const secret = join(work, 'npmrc');
  writeFileSync(secret, npmrc(), { mode: 0o600 });
  writeFileSync(join(folder, 'docker'), STAND_IN);
  chmodSync(join(folder, 'docker'), 0o755);
  const path = `${folder}:${docker.env.PATH}`;
  const env = { ...docker.env, PATH: path, CLIENT: docker.program, NPMRC: secret, PORT: String(port) };
  const { stdout } = await execute('bash', ['-c', line], { cwd: root, env, maxBuffer: MOST_OUTPUT });
  return stdout.trim();
};

/** Builds the image as the guide does, with the option that it names for another target. */
export const buildTarget = async (given, tag, target) => {
  const [line] = commandsOf(given.root, 'The image').typed;
  await type(given, line.replace('-t content-gateway', `-t ${tag} --target ${target}`));
};

/** Builds the image as the guide does, and the one of the sandbox. */
export const build = async (given, sandbox) => {
  const [line] = commandsOf(given.root, 'The image').typed;
  await type(given, line);
  await buildTarget(given, sandbox, 'sandbox');
};

/** The other lines about the image. */
export const guide = async (given) => {
  const { docker, root } = given;
  const port = await freePort();
  const [, run, ...others] = commandsOf(root, 'The image').typed;
  await docker.attempt('volume', 'rm', '--force', 'gateway');
  try {
    const id = await type({ ...given, port }, run);
    await new Container(docker, id, `http://127.0.0.1:${port}`).ready();
    for (const line of others) assert.notEqual(await type(given, line), '', line);
  } finally {
    await docker.attempt('rm', '--force', 'gateway');
    await docker.attempt('volume', 'rm', '--force', 'gateway');
  }
  return `${others.length + 2} lines typed`;
};

/** Holds what is typed about Compose against its services and profiles. */
export const checkCompose = (root, services) => {
  const { typed, mentioned } = commandsOf(root, 'Compose');
  const profiles = Object.values(services).flatMap((service) => service.profiles ?? []);
  for (const line of [...typed, ...mentioned]) {
    const [, profile] = /--profile (\S+)/.exec(line) ?? [];
    if (profile) assert.ok(profiles.includes(profile), line);
    const [, service] = /(?:compose exec|--scale) ([\w-]+)/.exec(line) ?? [];
    if (service) assert.ok(service in services, line);
  }
  const inside = typed.at(-1);
  const image = commandsOf(root, 'The image').typed.at(-1);
  assert.equal(inside.replace('docker compose exec', 'docker exec'), image, 'what is typed in a container');
};

/** What pods are made of, of all objects that make some. */
export const podsOf = (objects) =>
  objects.flatMap(({ spec }) => spec?.template ?? spec?.jobTemplate?.spec.template ?? []);

/** Holds what is typed about Kubernetes against the objects. */
export const checkKubernetes = (root, objects) => {
  const { typed, mentioned } = commandsOf(root, 'Kubernetes');
  const secrets = typed.filter((line) => line.startsWith('kubectl create secret'));
  const references = podsOf(objects)
    .flatMap(({ spec }) => spec.containers)
    .flatMap(({ env = [] }) => env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []));
  const typedKeys = secrets.flatMap((line) => {
    const [, name] = /generic (\S+)/.exec(line);
    return [...line.matchAll(/--from-literal=([\w-]+)=/g)].map(([, key]) => `${name} ${key}`);
  });
  assert.deepEqual(new Set(references.map(({ name, key }) => `${name} ${key}`)), new Set(typedKeys));
  assert.equal(typed.at(-1), 'kubectl apply -k deploy/kubernetes');
  for (const line of mentioned) {
    const [, kind, name] = /kubectl delete (\w+) (\S+)/.exec(line) ?? [];
    if (!kind) continue;
    assert.ok(
      objects.some((object) => object.kind.toLowerCase() === kind && object.metadata.name === name),
      line,
    );
  }
};
