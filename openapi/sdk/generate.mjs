// npm run sdk [-- <language> …]: makes the SDKs in build/sdk/, and their packages in build/sdk/artifacts, which a gateway serves at
// /sdks/. `types` is the package of the contract alone. Without --package, it only writes the sources of the SDKs.
import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { artifactsOf, build, generatedLines, lackingCommands, languagesNamed, versionOf } from './languages.mjs';
import { prepareDocuments } from './prepare.mjs';
import { readSettings } from './settings.mjs';
import { makeTypes } from './types.mjs';

const TYPES = 'types';
const options = process.argv.slice(2);
const names = options.filter((name) => name !== '--package' && name !== TYPES);
const isPackaging = options.includes('--package');

/** Runs a script of a language. Returns whether this went well; says on the standard error why not. */
const runScript = (name, script, args = []) => {
  const file = fileURLToPath(new URL(`${name}/${script}`, import.meta.url));
  const { status, error } = spawnSync(file, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) console.error(`!!! No ${name} SDK: ${error?.message ?? `${file} ended with status ${status}`}`);
  return status === 0;
};

/** Generates one SDK, and packages it if asked. Returns whether this went well. */
const generate = (language) => {
  const { name, generator } = language;
  const lacking = lackingCommands(language);
  if (lacking.length > 0) {
    console.error(`!!! No ${name} SDK: this machine lacks ${lacking.join(', ')}.`);
    return process.env.CI !== 'true';
  }
  if (!runScript(name, 'generate')) return false;
  copyFileSync(readSettings().licenseFile, join(build, name, 'LICENSE'));
  console.log(`build/sdk/${name}: ${generatedLines(language)} lines by ${generator} ${versionOf(language)}`);
  // `npm run test:sdk` compiles the crate.
  if (isPackaging && !runScript(name, 'package', name === 'rust' ? ['--no-verify'] : [])) return false;
  for (const line of isPackaging ? artifactsOf(language) : []) console.log(`build/sdk/${line}`);
  return true;
};

// The scripts run in folders of their own.
for (const name of ['SDK_SETTINGS', 'SDK_DOCUMENTS', 'SDK_BUILD']) {
  if (process.env[name]) process.env[name] = resolve(process.env[name]);
}
prepareDocuments();
const isTypesOnly = names.length === 0 && options.includes(TYPES);
const outcomes = isTypesOnly ? [] : languagesNamed(names).map(generate);
if (isPackaging && (options.includes(TYPES) || names.length === 0)) {
  makeTypes();
  for (const line of artifactsOf({ name: TYPES })) console.log(`build/sdk/${line}`);
}
process.exitCode = outcomes.every(Boolean) ? 0 : 1;
