import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { facts } from './facts.ts';
import { EXAMPLE_ADDRESS } from './guide-links.ts';

// The derived parts of docs/*.md: the text between `<!-- NAME -->` and `<!-- / -->` is the part NAME.
// test/docs/sandbox-page.test.ts derives the part `sandbox` from the sandbox's data.

const PART = /<!-- ((?!sandbox )[\w.-]+) -->[^]*?<!-- \/ -->/g;
const LANGUAGES = { typescript: 'TypeScript', python: 'Python', go: 'Go', java: 'Java', rust: 'Rust' };

/** The settings of the SDKs. */
interface Settings {
  packages: Record<string, { served: string }>;
}

/** The members of `openapi/sdk/settings.mjs` used here. */
interface SdkSettings {
  readSettings: () => Settings;
  settingAt: (settings: Settings, path: string) => string;
}

const sdkSettings = async (): Promise<SdkSettings> =>
  (await import(pathToFileURL(resolve('openapi/sdk/settings.mjs')).href)) as SdkSettings;

/** The section of a Markdown text below a heading, up to the next one of its depth. @throws Error if it is missing */
const section = (text: string, heading: string): string => {
  const lines = text.split('\n');
  const start = lines.indexOf(heading);
  if (start === -1) throw new Error(`There is no heading "${heading}".`);
  const depth = heading.indexOf(' ');
  let isCode = false;
  const end = lines.findIndex((line, index) => {
    if (line.startsWith('```')) isCode = !isCode;
    // A comment in a script may look like a heading.
    return index > start && !isCode && /^#+ /.test(line) && line.indexOf(' ') <= depth;
  });
  return lines
    .slice(start + 1, end === -1 ? undefined : end)
    .join('\n')
    .trim();
};

/** The README of each SDK, by its language, under its published names. */
const sdkReadmes = async (): Promise<[language: string, text: string][]> => {
  const { readSettings, settingAt } = await sdkSettings();
  const settings = readSettings();
  return Object.keys(LANGUAGES).map((language) => {
    const readme = readFileSync(`openapi/sdk/${language}/sdk/README.md`, 'utf8')
      // These lines mark passages that SDKs of older documents lack.
      .replaceAll(/^.*\{\{[#/]events\}\}.*\n\n?/gm, '')
      .replaceAll(/\{\{([\w.]+)\}\}/g, (_, name: string) => settingAt(settings, name));
    // Words after the language, and lines of Rust that start with `# `, are for tools that compile the examples.
    const code = (block: string): string => (language === 'rust' ? block.replaceAll(/^# .*\n/gm, '') : block);
    return [language, readme.replaceAll(/^(```\w+),\w+$/gm, '$1').replaceAll(/^```\w+\n[^]*?^```$/gm, code)];
  });
};

/** The quick start of each SDK: `quickstart.go`, …. */
const quickStarts = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await sdkReadmes()).map(([language, text]) => [`quickstart.${language}`, section(text, '## Quick start')]),
  );

/** The common behavior of all SDKs, for the guide to them. */
const passages = (): Record<string, string> => ({
  'sdk.behavior': section(readFileSync('openapi/sdk/README.md', 'utf8'), '## What all of them do').replaceAll(
    '](../../docs/',
    '](',
  ),
});

const block = (...lines: string[]): string => ['```text', ...lines, '```'].join('\n');

/** The lines that install the package of types beside others: `install.trpc`, `install.contract`. */
const typesLines = async (): Promise<Record<string, string>> => {
  const { types } = (await sdkSettings()).readSettings().packages;
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> };
  const line = types?.served.replace(/"\$\w+?_URL(.+)"/, `${EXAMPLE_ADDRESS}$1`) ?? '';
  const others = ['zod', '@ts-rest/core'].map((name) => `${name}@${dependencies[name]}`).join(' ');
  return {
    'install.trpc': block('npm install @trpc/client superjson', line),
    'install.contract': block(`npm install ${others}`, line),
  };
};

/** All parts that guides may have, by name. */
const parts = async (): Promise<Record<string, string>> => ({
  ...facts,
  ...passages(),
  ...(await typesLines()),
  ...(await quickStarts()),
});

/**
 * The current guides and READMEs of the SDKs, by path. Runs in the repository's root. @throws Error at an unknown name
 */
export const filledGuides = async (): Promise<[path: string, text: string][]> => {
  const known = await parts();
  const fill = (text: string): string =>
    text.replaceAll(PART, (_, name: string) => {
      const value = known[name];
      if (value === undefined) throw new Error(`Nothing is called ${name}.`);
      const isBlock = value.includes('\n');
      return `<!-- ${name} -->${isBlock ? `\n\n${value}\n\n` : value}<!-- / -->`;
    });
  const style = await resolveConfig('docs/start.md');
  const paths = readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`);
  const guides = await Promise.all(
    paths.map(async (path): Promise<[string, string]> => {
      const text = readFileSync(path, 'utf8');
      // A guide without parts to fill in stays unchanged.
      return [path, text.search(PART) !== -1 ? await format(fill(text), { ...style, parser: 'markdown' }) : text];
    }),
  );
  const readmes = (await sdkReadmes()).map(([language, text]): [string, string] => [
    `openapi/sdk/${language}/README.md`,
    text,
  ]);
  const { packages } = (await sdkSettings()).readSettings();
  return [...guides, ...readmes, ['openapi/install.json', `${JSON.stringify(packages, null, 2)}\n`]];
};
