// npm run sdk [-- <language> …]: writes the SDKs into build/sdk/.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { generatedLines, lackingCommands, languagesFromArguments, versionOf } from './languages.mjs';
import { prepareDocuments } from './prepare.mjs';

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
  console.log(`build/sdk/${name}: ${generatedLines(language)} lines by ${generator} ${versionOf(language)}`);
  return true;
};

prepareDocuments();
const outcomes = languagesFromArguments().map(generate);
process.exitCode = outcomes.every(Boolean) ? 0 : 1;
