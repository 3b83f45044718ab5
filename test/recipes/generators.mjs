import { execFile } from 'node:child_process';
import { copyFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from './support/clone.mjs';
import { Lacking } from './support/lacking.mjs';
import { need } from './support/tools.mjs';

const execute = promisify(execFile);
const LIMIT = { timeout: 300_000, maxBuffer: 2 ** 26 };

/** Has a program check each file of a folder whose name ends so. Returns how many there are. */
const checkEach = async (folder, ending, command, ...options) => {
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(ending));
  if (files.length < 50) throw new Error(`${folder} holds only ${files.length} files ${ending}.`);
  for (const file of files) await execute(command, [...options, join(folder, file)], LIMIT);
  return files.length;
};

/** Languages, and how to compile their clients; those that nothing here compiles are only made. */
const COMPILERS = {
  php: (folder) => checkEach(folder, '.php', 'php', '-l'),
  ruby: (folder) => checkEach(folder, '.rb', 'ruby', '-c'),
  kotlin: async (folder) => {
    await copyFile(new URL('tools/kotlin/pom.xml', import.meta.url), join(folder, 'pom.xml'));
    await execute('mvn', ['-q', '-B', 'compile'], { ...LIMIT, cwd: folder });
    return (await readdir(join(folder, 'target/classes'), { recursive: true })).length;
  },
  csharp: undefined,
};

/** The program of openapi-generator. @throws Lacking */
const generator = async () => {
  try {
    return (await execute(join(root, 'openapi/sdk/java/generator'), [], LIMIT)).stdout.trim();
  } catch (error) {
    throw new Lacking(`openapi-generator cannot be had: ${error.stderr || error.message}`);
  }
};

/** Makes clients of the 3.0 document in other languages, without a word of warning, and compiles them. */
export const recipe = async ({ gateway, folder }) => {
  for (const command of ['java', 'mvn', 'php', 'ruby']) await need(command);
  const jar = await generator();
  const done = [];
  for (const [language, compile] of Object.entries(COMPILERS)) {
    const client = join(folder, language);
    const source = `${gateway.url}/openapi-3.0.json`;
    const { stdout, stderr } = await execute(
      'java',
      ['-XX:TieredStopAtLevel=1', '-jar', jar, 'generate', '-g', language, '-i', source, '-o', client],
      LIMIT,
    );
    const warnings = `${stdout}${stderr}`.split('\n').filter((line) => /\b(?:WARN|ERROR)\b/.test(line));
    if (warnings.length > 0) throw new Error(`${language}: ${warnings.join('\n')}`);
    const files = await compile?.(client);
    done.push(files === undefined ? `${language} made` : `${language} compiled, ${files} files`);
  }
  return done.join('; ');
};
