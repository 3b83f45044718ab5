import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { transform } from '@swc/core';
import { PASSAGE } from '../../../src/site/guides/guides.ts';
import { collected } from '../app/command.ts';

// Runs what a guide tells its readers to run, as it stands; only the address is another.

export interface Block {
  /** `sh`, `js`, `ts`, `python`, or of what it shows: `json`, `text`, `http`. */
  language: string;
  text: string;
  line: number;
}

/** The fenced blocks of a Markdown text. Those within lists are indented. */
export const blocksOf = (markdown: string): Block[] =>
  [...markdown.matchAll(/^( *)```(\w+)\n([^]*?)^ *```$/gm)].map(
    ({ 1: indent = '', 2: language = '', 3: text = '', index }) => ({
      language,
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      line: markdown.slice(0, index).split('\n').length,
    }),
  );

const EXAMPLE = 'http://localhost:3000';
const END = '\u{1e}';

/** Where a guide is run: against a service, with programs in `folder`, and commands in the repository or in `cwd`. */
interface Surroundings {
  address: string;
  folder: string;
  env: NodeJS.ProcessEnv;
  cwd?: string;
}

interface Output {
  block: Block;
  stdout: string;
}

const runProgram = async (command: string, args: string[], env: NodeJS.ProcessEnv, cwd = '.'): Promise<string> => {
  // On a terminal, Jest has its workers color what they print. A guide shows no colors.
  const plain = { ...env, FORCE_COLOR: undefined };
  const child = spawn(command, args, { cwd: resolve(cwd), env: plain, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`${command} ended with status ${code} after:\n${stdout}\n${stderr}`);
  return stdout;
};

/**
 * What a script begins with that has `npm run -s cli --` start the program itself, which setup/build.ts has compiled: npm, and
 * the look whether there is something to compile, cost more than most commands.
 */
export const WITHOUT_NPM = `npm() {
  [ "$1 $2 $3 $4" = 'run -s cli --' ] || { command npm "$@"; return; }
  shift 4
  '${process.execPath}' '${resolve('dist/src/cli.js')}' "$@"
}
`;

/**
 * Runs a script by `sh`, and what it says to `npm run -s cli --` in this process: a start of the program costs more than most
 * commands. What reads the standard input is started.
 */
export const runScriptHere = async (script: string, env: NodeJS.ProcessEnv): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'content-gateway-commands-'));
  const texts = async (path: string): Promise<string[]> => (await readFile(path, 'utf8')).split('\0').slice(0, -1);
  const server = createServer((request, response) => {
    const call = join(folder, request.url ?? '');
    const answer = async (): Promise<void> => {
      const variables = (await texts(join(call, 'env'))).map((text) => /^([^=]*)=([^]*)$/.exec(text) ?? []);
      const environment = Object.fromEntries(variables.map(([, name = '', value = '']) => [name, value]));
      const { code, stdout, stderr } = await collected(await texts(join(call, 'args')), environment);
      await Promise.all([writeFile(join(call, 'stdout'), stdout), writeFile(join(call, 'stderr'), stderr)]);
      response.end(String(code));
    };
    answer().catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const begin = `${WITHOUT_NPM.replace('npm()', 'start()')}
npm() {
  case "$*" in 'run -s cli -- '*' -') start "$@"; return ;; 'run -s cli -- '*) shift 4 ;; *) command npm "$@"; return ;; esac
  call=$(mktemp -d '${folder}/XXXXXX')
  printf '%s\\0' "$@" >"$call/args"
  env -0 >"$call/env"
  code=$(curl -fsS --noproxy '*' "http://127.0.0.1:${(server.address() as AddressInfo).port}/$(basename "$call")")
  cat "$call/stdout"
  cat "$call/stderr" >&2
  return "$code"
}
`;
  try {
    return await runProgram('sh', ['-ec', begin + script], env);
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
};

/** Runs the shell blocks one after the other in one shell, which keeps the variables; in `cwd`, where a guide writes files. */
const runShell = async (blocks: readonly Block[], { address, env, cwd }: Surroundings): Promise<Output[]> => {
  const script = blocks.map(({ text }) => `${text.replaceAll(EXAMPLE, address)}printf '${END}'\n`).join('');
  const stdout = await (cwd === undefined
    ? runScriptHere(script, env)
    : runProgram('sh', ['-ec', WITHOUT_NPM + script], env, cwd));
  return stdout
    .split(END)
    .slice(0, -1)
    .map((part, index) => ({ block: blocks[index] as Block, stdout: part }));
};

/** Runs a program in `folder`, which is within the repository, so that packages are found. */
const runScript = async (block: Block, address: string, folder: string, env: NodeJS.ProcessEnv): Promise<Output> => {
  const text = block.text.replaceAll(EXAMPLE, address);
  if (block.language === 'python') return { block, stdout: await runProgram('python3', ['-c', text], env) };
  const { code } = await transform(text, { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } });
  const file = join(folder, `line-${block.line}.mjs`);
  await writeFile(file, block.language === 'ts' ? code : text);
  return { block, stdout: await runProgram(process.execPath, [file], env) };
};

const GAP = '…';

/** Where what came is not as shown. `"…"` stands for anything, in a list for any number of elements, as a name for members. */
export const difference = (shown: unknown, came: unknown, path = ''): string | undefined => {
  if (shown === GAP) return undefined;
  if (Array.isArray(shown)) {
    if (!Array.isArray(came)) return `${path} is no list`;
    const isOpen = shown.at(-1) === GAP;
    const known = isOpen ? shown.slice(0, -1) : shown;
    if (!isOpen && came.length !== shown.length) return `${path} has ${came.length} elements`;
    return known.map((value, index) => difference(value, came[index], `${path}/${index}`)).find(Boolean);
  }
  if (typeof shown === 'object' && shown !== null) {
    if (typeof came !== 'object' || came === null) return `${path} is no object`;
    const isOpen = GAP in shown;
    const more = Object.keys(came).filter((name) => !(name in shown));
    // Elided in the middle of the answer, or not at all.
    if (!isOpen && more.length > 0 && !isAbridged(shown)) return `${path} also has ${more.join(', ')}`;
    return Object.entries(shown)
      .filter(([name]) => name !== GAP)
      .map(([name, value]) =>
        name in came ? difference(value, came[name as keyof typeof came], `${path}/${name}`) : `${path} has no ${name}`,
      )
      .find(Boolean);
  }
  return Object.is(shown, came) ? undefined : `${path} is ${JSON.stringify(came)}, not ${JSON.stringify(shown)}`;
};

/** Hints and the like may be left out of what is shown of a failure. */
const isAbridged = (shown: object): boolean => 'reason' in shown;

const bodyOf = (stdout: string): string => stdout.slice(stdout.search(/^[[{]/m));

/** What of an output differs from what the guide shows of it. */
const mismatch = (shown: Block, stdout: string): string | undefined => {
  if (shown.language === 'json') return difference(JSON.parse(shown.text), JSON.parse(bodyOf(stdout)));
  if (shown.language === 'http') {
    // Numbers and names change from call to call.
    const shape = (line: string): string =>
      line
        .trim()
        .toLowerCase()
        .replaceAll(/"[^"]+"/g, '""')
        .replaceAll(/\d+/g, '0');
    const came = new Set(stdout.split('\n').map(shape));
    return shown.text
      .trim()
      .split('\n')
      .find((line) => !came.has(shape(line)));
  }
  return stdout === shown.text ? undefined : `it is ${JSON.stringify(stdout)}`;
};

/** The failure in an answer that is not shown, and so has to be a success. */
const failureIn = (stdout: string): string | undefined => /^\[?\{"error":.*$/m.exec(stdout)?.[0];

const SHOWN = ['json', 'text', 'http'];

export interface Ran {
  ran: number;
  compared: number;
  /** By the lines of the guide. */
  mismatches: string[];
}

/** A guide as a service of a kind has it: passages of other kinds are blank lines. */
export const guideFor = (kind: string, markdown: string): string =>
  markdown.replaceAll(PASSAGE, (whole: string, kinds: string) =>
    kinds.split(' ').includes(kind) ? whole : whole.replaceAll(/.+/g, ''),
  );

/**
 * Runs a guide, as a sandbox has it: its shell lines in one shell, then its programs. Whatever follows directly on a block, and shows JSON, text or
 * headers, is what it should answer. @throws Error if something ends with another status than 0
 */
export const runGuide = async (file: string, surroundings: Surroundings): Promise<Ran> => {
  const { address, folder, env } = surroundings;
  const markdown = guideFor('sandbox', await readFile(file, 'utf8'));
  const blocks = blocksOf(markdown);
  const shell = await runShell(
    blocks.filter(({ language }) => language === 'sh'),
    surroundings,
  );
  const scripts: Output[] = [];
  for (const block of blocks.filter(({ language }) => ['js', 'ts', 'python'].includes(language))) {
    scripts.push(await runScript(block, address, folder, env));
  }
  const outputs = [...shell, ...scripts];
  const pairs = outputs.map(({ block, stdout }) => {
    const next = blocks[blocks.indexOf(block) + 1];
    return { block, stdout, shown: next !== undefined && SHOWN.includes(next.language) ? next : undefined };
  });
  const mismatches = pairs.flatMap(({ block, stdout, shown }) => {
    const found = shown === undefined ? failureIn(stdout) : mismatch(shown, stdout);
    return found === undefined ? [] : [`${file}:${(shown ?? block).line}: ${found}`];
  });
  return { ran: outputs.length, compared: pairs.filter(({ shown }) => shown).length, mismatches };
};
