import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { blocksOf, WITHOUT_NPM } from './guide.ts';

/** The section of a guide below a heading, without the sections after it; for undefined, what comes before the first one. */
export const sectionOf = (guide: string, heading?: string): string => {
  const [, section = ''] = heading === undefined ? guide.split(/^# .*$/m) : guide.split(`\n${heading}\n`);
  return section.split(/^## /m, 1).join('');
};

/** The blocks of a language in a section. */
export const blocksIn = (guide: string, heading: string | undefined, language: string): string[] =>
  blocksOf(sectionOf(guide, heading))
    .filter((block) => block.language === language)
    .map(({ text }) => text);

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a script in the folder of the repository, and ends at its first command that fails. */
export const runShell = async (script: string, env: NodeJS.ProcessEnv): Promise<Ran> => {
  const child = spawn('sh', ['-ec', WITHOUT_NPM + script], { cwd: resolve('.'), env: { ...process.env, ...env } });
  const ran = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (ran.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (ran.stderr += text));
  const [code] = (await once(child, 'close')) as [number];
  return { code, ...ran };
};
