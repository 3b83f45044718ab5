// npm run sdk [-- <language> …]: writes the SDKs into build/sdk/.
import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, generatedLines, lackingCommands, languagesNamed, versionOf } from './languages.mjs';
import { prepareDocuments } from './prepare.mjs';
import { readSettings } from './settings.mjs';

/** Generates one SDK. Returns whether this went well; says on the standard error why not. */
const generate = (language) => {
  const { name, generator } = language;
  const lacking = lackingCommands(language);
  if (lacking.length > 0) {
    console.error(`!!! No ${name} SDK: this machine lacks ${lacking.join(', ')}.`);
    return process.env.CI !== 'true';
  }
  const script = fileURLToPath(new URL(`${name}/generate`, import.meta.url));
  const { status, error } = spawnSync(script, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) {
    console.error(`!!! No ${name} SDK: ${error?.message ?? `${script} ended with status ${status}`}`);
    return false;
  }
  copyFileSync(readSettings().licenseFile, join(build, name, 'LICENSE'));
  console.log(`build/sdk/${name}: ${generatedLines(language)} lines by ${generator} ${versionOf(language)}`);
  return true;
};

// The scripts run in folders of their own.
for (const name of ['SDK_SETTINGS', 'SDK_DOCUMENTS', 'SDK_BUILD']) {
  if (process.env[name]) process.env[name] = resolve(process.env[name]);
}
prepareDocuments();
const outcomes = languagesNamed(process.argv.slice(2)).map(generate);
process.exitCode = outcomes.every(Boolean) ? 0 : 1;
