/**
 * @engines none
 * @tier fast
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { packages } from '../../src/base/packages.ts';

// No registry has a package of ours: any author may register its name, and readers would run that author's code.

const names = ['content-gateway', ...packages.map(([, { name }]) => name)].map((name) => name.replace(/.*[:/]/, ''));
const BY_NAME = new RegExp(
  `\\b(?:npm (?:i|install|exec)|npx|pip install|cargo add)\\b(?!.*--(?:no|registry)\\b)[^\\n#|&]*[ "'](?:${names.join('|')})(?:@[\\d.^~]+)?(?=["'\\s]|$)`,
);

test('no line installs a package of ours by its name alone', () => {
  const files = execFileSync('git', ['ls-files', '*.md', 'deploy', '.env.example', 'src', 'openapi/sdk', '.github'], {
    encoding: 'utf8',
  });
  const found = files
    .trim()
    .split('\n')
    .filter((file) => !/CHANGELOG|guides\//.test(file))
    .flatMap((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => BY_NAME.test(line))
        .map((line) => `${file}: ${line}`),
    );
  expect(found).toEqual([]);
});

test.each([
  'npm install content-gateway-client',
  '.venv/bin/pip install content-gateway',
  'npx content-gateway@1 verify',
  'npm install --global --ignore-scripts content-gateway@1',
  'cargo add content-gateway',
])('%s is such a line', (line) => {
  expect(BY_NAME.test(line)).toBe(true);
});
