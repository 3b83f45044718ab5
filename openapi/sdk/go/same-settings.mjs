// node same-settings.mjs write|check: notes in SDK_BUILD with what settings the SDK is generated, or fails if they are others now.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readSettings } from '../settings.mjs';

const file = join(process.env.SDK_BUILD, 'go-settings.json');
const { licenseFile: _path, ...settings } = readSettings();

if (process.argv[2] === 'write') writeFileSync(file, JSON.stringify(settings, null, 2));
else {
  const generated = JSON.parse(readFileSync(file, 'utf8'));
  const names = new Set([...Object.keys(generated), ...Object.keys(settings)]);
  const differing = [...names].filter((name) => !isDeepStrictEqual(generated[name], settings[name]));
  if (differing.length > 0) {
    console.error(`The SDK was generated with other settings: ${differing.join(', ')} differ. Generate it again.`);
    process.exit(1);
  }
}
