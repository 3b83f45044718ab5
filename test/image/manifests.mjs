import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { goTools, pythonWith } from '../recipes/support/tools.mjs';
import { checkCompose, checkKubernetes, podsOf } from './guide.mjs';

const execute = promisify(execFile);
const tools = fileURLToPath(new URL('tools/', import.meta.url));

/** Runs `compose` or `kustomize`, as their makers' own modules build them. @returns what it printed @throws Lacking */
const runTool = async (name, args, options) => {
  const sources = ['./compose', 'sigs.k8s.io/kustomize/kustomize/v5'];
  const folder = await goTools('image/go', tools, sources, ['compose/main.go']);
  return (await execute(join(folder, name), args, options)).stdout;
};

/** The oldest version that takes all of it, and the newest one that the checker knows. */
const KUBERNETES = ['1.31', '1.37'];

const PASSWORDS = {
  DATABASE_PASSWORD: 'of-a-test',
  MIGRATE_PASSWORD: 'of-another',
  WEBHOOK_SECRET_KEY: `${'k'.repeat(43)}=`,
};

/** The services of the Compose project with all its profiles, as Compose reads it. @throws Lacking, Error with what is wrong */
export const projectOf = async (root, env = PASSWORDS) => {
  const options = { cwd: root, env: { PATH: process.env.PATH, ...env } };
  return JSON.parse(await runTool('compose', [join(root, 'compose.yaml'), 'observe'], options)).services;
};

export const compose = async ({ root }) => {
  const services = await projectOf(root);
  for (const name of Object.keys(PASSWORDS)) {
    const others = Object.fromEntries(Object.entries(PASSWORDS).filter(([other]) => other !== name));
    await assert.rejects(projectOf(root, others), new RegExp(name), 'no password is made up');
  }
  assert.ok(!JSON.stringify(services.gateway).includes(PASSWORDS.MIGRATE_PASSWORD), 'the service cannot change tables');
  assert.equal(services.gateway.deploy.replicas, 2);
  assert.equal(services.gateway.image, services.migrate.image);
  for (const [name, { volumes = [], ports = [] }] of Object.entries(services)) {
    for (const { type, source } of volumes) if (type === 'bind') assert.ok(existsSync(source), `${name}: ${source}`);
    // Databases and metrics are for each other only.
    if (!['balancer', 'grafana'].includes(name)) assert.deepEqual(ports, [], name);
  }
  checkCompose(root, services);
  return `${Object.keys(services).length} services`;
};

/** What a kustomization comes to. */
const customized = (folder) => runTool('kustomize', ['build', folder]);

const imagesOf = (objects) => new Set(podsOf(objects).flatMap(({ spec }) => spec.containers.map(({ image }) => image)));

const objectsOf = (text) => parseAllDocuments(text).map((document) => document.toJS());

export const kubernetes = async ({ root, work, release, version }) => {
  const stdout = await customized(join(root, 'deploy/kubernetes'));
  const file = join(work, 'kubernetes.yaml');
  writeFileSync(file, stdout);
  // It holds the schemas of Kubernetes.
  const python = await pythonWith('image/kubernetes-validate', join(tools, 'requirements.txt'), '--require-hashes');
  const checker = ['-m', 'kubernetes_validate', '--strict', '--quiet', '--kubernetes-version'];
  for (const one of KUBERNETES) {
    await execute(python, [...checker, one, file]).catch((error) => {
      assert.fail(`Kubernetes ${one}: ${error.stdout}${error.stderr}`);
    });
  }
  const objects = objectsOf(stdout);
  const pods = podsOf(objects);
  assert.equal(pods.length, 3);
  assert.deepEqual(imagesOf(objects), new Set([`content-gateway:${version}`, `content-gateway-backup:${version}`]));
  const { image } = JSON.parse(readFileSync(join(release, 'release.json'), 'utf8'));
  await execute('tar', ['-xzf', join(release, `content-gateway-${version}-kubernetes.tgz`), '-C', work]);
  assert.deepEqual(
    imagesOf(objectsOf(await customized(join(work, 'kubernetes')))),
    new Set([`${image.name}@${image.digest}`, `${image.name}-backup:${version}`]),
    "the release's",
  );
  for (const { spec } of pods) {
    assert.equal(spec.securityContext.runAsNonRoot, true);
    assert.equal(spec.containers[0].securityContext.readOnlyRootFilesystem, true);
  }
  // Whom the service and the budget choose are the gateways, and nobody else.
  const selectors = [
    objects.find(({ kind }) => kind === 'Service').spec.selector,
    objects.find(({ kind }) => kind === 'PodDisruptionBudget').spec.selector.matchLabels,
  ];
  for (const selector of selectors) {
    const chosen = pods.filter(({ metadata: { labels } }) =>
      Object.entries(selector).every(([name, value]) => labels[name] === value),
    );
    assert.deepEqual(
      chosen.map(({ spec }) => spec.containers[0].name),
      ['gateway'],
    );
  }
  assert.ok(
    objects.every(({ kind }) => kind !== 'Secret'),
    'secrets are referred to only',
  );
  checkKubernetes(root, objects);
  return `${objects.length} objects, for Kubernetes ${KUBERNETES.join(' to ')}`;
};
