// How the Go module of a release is published.
import { readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { readSettings } from '../../openapi/sdk/settings.mjs';
import { Refusal, attempt, changed, run } from './clients.mjs';
import { filesIn } from './files.mjs';

/** Over what the user has set. */
const OPTIONS = ['core.autocrlf=false', 'core.hooksPath=/dev/null', 'commit.gpgSign=false'].flatMap((one) => [
  '-c',
  one,
]);

/** A Go module is a tag of its repository, of which proxies make what they serve: here it gets the tag, of what they should make. */
export const goModule = (folder, cwd, time) => {
  const path = filesIn(folder).find((one) => one.endsWith('.zip'));
  const [, module, version] = /^(.+)\/@v\/(.+)\.zip$/.exec(
    path.replaceAll(/!([a-z])/g, (_, letter) => letter.toUpperCase()),
  );
  const { go, author } = readSettings();
  const remote = process.env.GO_REPOSITORY || go.repository;
  // It may hold a password.
  const shown = remote.replace(/\/\/[^/@]*@/, '//');
  const what = `${module} ${version} in ${shown}`;
  const tag = `refs/tags/${version}`;
  const work = join(cwd, 'repository');
  const env = { GIT_TERMINAL_PROMPT: '0', GIT_AUTHOR_DATE: time, GIT_COMMITTER_DATE: time };
  for (const role of ['AUTHOR', 'COMMITTER']) {
    Object.assign(env, { [`GIT_${role}_NAME`]: author.name, [`GIT_${role}_EMAIL`]: author.email });
  }
  const says = (why, cwdOf, ...args) => {
    const { status, stdout, stderr } = attempt('git', [...OPTIONS, ...args], { cwd: cwdOf, env });
    if (status !== 0) throw new Refusal(`${why}\n${stderr.replaceAll(remote, shown)}`);
    return stdout;
  };
  const git = (...args) => says(`git ${args[0]} failed.`, work, ...args);
  const unreadable = `${shown} cannot be read. Does it exist, and does GO_REPOSITORY hold what opens it?`;
  says(unreadable, cwd, 'clone', '--quiet', remote, work);
  git('rm', '-r', '-q', '--ignore-unmatch', '.');
  run('python3', ['-m', 'zipfile', '-e', join(folder, path), join(cwd, 'module')], { cwd });
  const files = join(cwd, 'module', `${module}@${version}`);
  for (const name of readdirSync(files)) renameSync(join(files, name), join(work, name));
  git('add', '--all', '--force', '.');
  const isThere = git('tag', '--list', version) !== '';
  if (isThere && git('write-tree') !== git('rev-parse', `${tag}^{tree}`)) throw changed(what);
  if (!isThere) {
    git('commit', '--quiet', '--allow-empty', '--message', `Release ${version}`);
    git('tag', '--no-sign', version);
  }
  const unwritable = `${shown} takes no tag. Does GO_REPOSITORY hold what may push?`;
  const push = (...args) => says(unwritable, work, 'push', '--quiet', '--atomic', ...args, 'origin', 'HEAD', tag);
  if (!isThere) push('--dry-run');
  return { what, isThere, publish: () => push() };
};
