/**
 * @engines none
 * @tier fast
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';

// What is installed, and by what it is checked.

interface Locked {
  version: string;
  license?: string;
  integrity?: string;
  resolved?: string;
  dev?: boolean;
  link?: boolean;
  hasInstallScript?: boolean;
  os?: string[];
  cpu?: string[];
}

interface Description {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  allowScripts: Record<string, boolean>;
  scripts: Record<string, string>;
}

const read = (file: string): string => readFileSync(file, 'utf8');
const { dependencies, devDependencies, allowScripts, scripts } = JSON.parse(read('package.json')) as Description;
const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };
const { '': _, ...packages } = lock.packages;

/** `qs` of `node_modules/express/node_modules/qs`. */
const nameOf = (path: string): string => path.split('node_modules/').at(-1) ?? path;

const isFolder = (path: string): boolean => !path.includes('node_modules/');
const installed = Object.entries(packages).filter(([path, { link }]) => !isFolder(path) && !link);
const production = installed.filter(([, { dev }]) => !dev);

describe('supply chain', () => {
  describe('docs/dependencies.md', () => {
    const page = read('docs/dependencies.md');
    const rows = [...page.matchAll(/^\| `(.+?)` +\| (\S+) +\| (\S+) +\| (.+?) +\|$/gm)];

    test('lists every package that production asks for, with its version, licence and reason', () => {
      expect(rows.map(([, name, version, license]) => [name, version, license])).toEqual(
        Object.keys(dependencies).map((name) => {
          const { version, license } = packages[`node_modules/${name}`] ?? {};
          return [name, version, license];
        }),
      );
      expect(rows.filter(([, , , , why = '']) => why.length < 10)).toEqual([]);
    });

    test('counts those that come along, and names all licences', () => {
      const [, more] = /They bring (\d+) more/.exec(page) ?? [];
      expect(Number(more)).toBe(production.length - rows.length);
      const [, licenses = ''] = /one of these licences: (.+)\.$/m.exec(page) ?? [];
      expect(licenses.split(', ')).toEqual(
        [...new Set(production.map(([, { license = '' }]) => license))].toSorted((a, b) => (a < b ? -1 : 1)),
      );
    });
  });

  test('production holds nothing that only tests need', () => {
    const names = production.map(([path]) => nameOf(path));
    expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
    expect(names.filter((name) => name.includes('trpc') || name === 'superjson')).toEqual([]);
    for (const [path, { dev }] of Object.entries(packages)) {
      if (path.startsWith('test/')) expect([path, dev]).toEqual([path, true]);
    }
  });

  test('production has the same packages on each platform of the image, which are installed once for all', () => {
    const some = production.filter(([, { os, cpu }]) => os ?? cpu);
    expect(some.map(([path]) => nameOf(path))).toEqual(['@photostructure/sqlite']);
    for (const [path, { os, cpu }] of some) {
      expect(os).toContain('linux');
      expect(cpu).toEqual(['x64', 'arm64']);
      for (const one of cpu!)
        expect(readdirSync(`${path}/prebuilds/linux-${one}`)).toContain(`${nameOf(path).replace('/', '+')}.glibc.node`);
    }
  });

  test('every package is of one version, and its file of one hash', () => {
    const inexact = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version) && !version.startsWith('file:'),
    );
    expect(inexact).toEqual([]);
    expect(installed.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path)).toEqual(
      [],
    );
    expect(installed.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
  });

  describe('no package runs a script when it is installed', () => {
    test('since npm 11 is told so of each that has one', () => {
      const scripted = [...new Set(installed.filter(([, one]) => one.hasInstallScript).map(([path]) => nameOf(path)))];
      expect(scripted.length).toBeGreaterThan(0);
      expect(allowScripts).toEqual(Object.fromEntries(scripted.map((name) => [name, false])));
    });

    test('since .npmrc turns scripts off, for npm 10, too', () => {
      const folder = mkdtempSync(join(tmpdir(), 'content-gateway-scripts-'));
      try {
        const packed = join(folder, 'packed');
        mkdirSync(packed);
        const marking = (name: string) => ({
          name,
          version: '1.0.0',
          scripts: Object.fromEntries(
            ['preinstall', 'install', 'postinstall'].map((script) => [script, `touch ${join(folder, `ran-${name}`)}`]),
          ),
        });
        writeFileSync(join(packed, 'package.json'), JSON.stringify(marking('packed')));
        const description = { ...marking('project'), dependencies: { packed: 'file:packed' } };
        writeFileSync(join(folder, 'package.json'), JSON.stringify(description));
        const install = (): string[] => {
          const args = ['install', '--offline', '--install-links', '--no-audit', '--no-fund', '--loglevel=error'];
          rmSync(join(folder, 'node_modules'), { recursive: true, force: true });
          const env = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
          execFileSync('npm', args, { cwd: folder, env, stdio: 'pipe' });
          expect(existsSync(join(folder, 'node_modules/packed/package.json'))).toBe(true);
          return ['packed', 'project'].filter((name) => existsSync(join(folder, `ran-${name}`)));
        };
        cpSync('.npmrc', join(folder, '.npmrc'));
        expect(install()).toEqual([]);
        // So that it is known to be this file which does it. Npm 11 refuses those of packages by itself.
        rmSync(join(folder, '.npmrc'));
        expect(install()).toContain('project');
      } finally {
        rmSync(folder, { recursive: true });
      }
    });

    test('for which npm skips what comes before and after our own scripts, too: there is none but what the guide has run', () => {
      expect(Object.keys(scripts).filter((name) => /^(pre|post)/.test(name))).toEqual(['prepack']);
      expect(readFileSync('docs/developing.md', 'utf8')).toContain('`npm pack --ignore-scripts=false`');
    });
  });

  test('the SBOM holds what production does, each with its licence and hash, and names no registry', () => {
    const sbom = execFileSync('npm', ['run', '--silent', 'sbom'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const { bomFormat, components } = JSON.parse(sbom) as {
      bomFormat: string;
      components: { name: string; version: string; licenses?: object[]; hashes?: { alg: string }[] }[];
    };
    expect(bomFormat).toBe('CycloneDX');
    expect(new Set(components.map(({ name, version }) => `${name}@${version}`))).toEqual(
      new Set(production.map(([path, { version }]) => `${nameOf(path)}@${version}`)),
    );
    expect(components.filter(({ licenses = [], hashes = [] }) => licenses.length === 0 || hashes.length === 0)).toEqual(
      [],
    );
    expect(sbom).not.toMatch(/registry|"distribution"/);
  });

  describe('what CI downloads is checked', () => {
    test.each(['test/fuzz/requirements.txt', 'openapi/sdk/python/requirements.txt', '.ci/go/requirements.txt'])(
      'each package of %s by hashes',
      (file) => {
        const lines = read(file)
          .replaceAll('\\\n', ' ')
          .split('\n')
          .filter((line) => line !== '' && !line.startsWith('#'));
        expect(lines.length).toBeGreaterThan(0);
        for (const line of lines) expect(line).toMatch(/^[\w.-]+==\S+( +--hash=sha256:[0-9a-f]{64})+$/);
      },
    );

    test.each(['.ci/schemathesis', '.ci/oasdiff', 'openapi/sdk/python/tools'])('by %s', (file) => {
      const installs = read(file)
        .replaceAll('\\\n', ' ')
        .match(/^.*\bpip" install .*$/gm);
      expect(installs).toEqual([expect.stringContaining('--require-hashes')]);
      expect(read(file)).not.toMatch(/\bgo install\b|\bcurl\b|\bwget\b/);
    });

    test.each(['.ci/go', 'openapi/sdk/go', 'test/recipes/tools'])('each Go module of %s by go.sum', (folder) => {
      const required = [...read(`${folder}/go.mod`).matchAll(/^\t(\S+ v\S+)/gm)].map(([, one]) => one ?? '');
      expect(required.length).toBeGreaterThan(0);
      const sums = read(`${folder}/go.sum`).split('\n');
      expect(required.filter((one) => !sums.some((sum) => sum.startsWith(`${one} h1:`)))).toEqual([]);
    });

    test('the Java generator by its SHA-256', () => {
      const script = read('openapi/sdk/java/generator');
      expect(script).toMatch(/^sha256=[0-9a-f]{64}$/m);
      // Its path is printed, and so it is run, only if it is the program with this hash.
      expect(script).toContain('set -euo pipefail');
      expect(script).toMatch(/^echo "\$sha256  \$jar" \| sha256sum --check --quiet >&2\necho "\$jar"\n$/m);
      expect(read('openapi/sdk/java/generate')).toContain('jar=$(./generator)');
    });

    test('MySQL by the signature of Debian’s archive', () => {
      expect(read('.ci/mysql')).toContain('[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]');
      expect(read('.ci/mysql')).not.toMatch(/trusted=yes|allow-insecure|AllowUnauthenticated/i);
    });
  });
});
