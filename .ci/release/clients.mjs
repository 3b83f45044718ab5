// Runs the clients of registries, and asks registries what they have.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export const REPLY_MS = 240_000;
/** Why something cannot be published, and what to do. */
export class Refusal extends Error {}

export const changed = (what) =>
  new Refusal(
    `${what} is there already, with other content. What is released does not change: release another version (npm run -s release -- --bump).`,
  );

/** Runs a client. Returns its status and what it printed. */
export const attempt = (command, args, { cwd, env = {} }) => {
  const { error, status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (error)
    throw new Refusal(`${command} cannot be run (${error.code}). Install it, or name the other parts by --only.`);
  return { status, stdout: stdout.trim(), stderr: stderr.trim() };
};

/** Runs a client that must succeed. @throws Refusal that begins with `why`, and ends with what the client said */
export const run = (command, args, { why = `${command} ${args[0]} failed.`, ...options }) => {
  const { status, stdout, stderr } = attempt(command, args, options);
  if (status !== 0) throw new Refusal(`${why}\n${stderr || stdout}`);
  return stdout;
};

/** The bytes at a URL, or undefined. @throws Refusal if it does not answer, or with a failure */
export const bytesAt = async (url, headers = {}) => {
  let reply;
  try {
    reply = await fetch(url, { headers, signal: AbortSignal.timeout(REPLY_MS) });
  } catch (error) {
    throw new Refusal(`${url} does not answer (${error.cause?.code ?? error.message}). Is the address right?`);
  }
  if (reply.status === 404) return undefined;
  if (!reply.ok) throw new Refusal(`${url} answered ${reply.status}. Are name and password right?`);
  return { url: reply.url, bytes: Buffer.from(await reply.arrayBuffer()) };
};

/** Whether a registry has each of some files: `[file, bytes there or undefined]`. @throws Refusal if one differs */
export const areThere = (what, pairs) => {
  if (pairs.some(([file, bytes]) => bytes && !bytes.equals(readFileSync(file)))) throw changed(what);
  return pairs.every(([, bytes]) => bytes);
};

export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
