// npm run -s release -- --publish FOLDER [--only PART,…] [--dry-run]: publishes a release. It looks at all registries before it
// publishes anything, and skips what they have already, so that a run that broke off is simply run again.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { description } from '../production.mjs';
import { Refusal } from './clients.mjs';
import { lookAt, published } from './registries.mjs';

/** What a release has beside packages. */
const OTHERS = ['documents'];

/** The description of the release in a folder. @throws Refusal unless it is whole, and that of this version */
const readRelease = (folder) => {
  const file = join(folder, 'release.json');
  if (!existsSync(file))
    throw new Refusal(`${folder} holds no release. Make one: npm run -s release -- --out ${folder}`);
  const sums = spawnSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: folder, encoding: 'utf8' });
  if (sums.status !== 0) {
    throw new Refusal(
      `${folder} is not as it was made. Make the release again.\n${sums.stdout}${sums.stderr}`.trimEnd(),
    );
  }
  const release = JSON.parse(readFileSync(file, 'utf8'));
  if (release.version !== description.version) {
    throw new Refusal(
      `${folder} is release ${release.version}, and package.json says ${description.version}. Check out ${release.commit}.`,
    );
  }
  return release;
};

const errorOf = (error) => (error instanceof Refusal ? error.message : error.stack);

/** Looks at all parts. Returns what they would publish, and why some cannot be published. */
const lookAtAll = async (wanted, work) => {
  const packages = [];
  const refusals = [];
  for (const part of wanted) {
    try {
      packages.push(...(await lookAt(part, work)));
    } catch (error) {
      refusals.push(errorOf(error));
    }
  }
  return { packages, refusals };
};

/** Publishes packages until one fails. Returns an exit status. */
const publishAll = (packages) => {
  const left = packages.filter(({ isThere }) => !isThere);
  for (const { what, isThere } of packages) if (isThere) console.log(`is there already: ${what}`);
  while (left.length > 0) {
    const [{ what, publish }] = left;
    try {
      publish();
    } catch (error) {
      const rest = left.map((one) => one.what).join(', ');
      console.error(`error: ${errorOf(error)}\nNot published yet: ${rest}. Mend that, and run the same command again.`);
      return 1;
    }
    console.log(`published: ${what}`);
    left.shift();
  }
  return 0;
};

/**
 * @param folder of the release
 * @param only the parts to publish (default: all that it has)
 * @param dryRun whether to only look
 * @returns an exit status
 */
export const publishRelease = async (folder, { only = published, dryRun }) => {
  const temporary = mkdtempSync(join(tmpdir(), 'content-gateway-publish-'));
  // A client that is interrupted fails.
  process.on('SIGINT', () => {});
  // A workflow sets to nothing what it does not know, which clients take for a name or a token.
  for (const [name, value] of Object.entries(process.env)) if (value === '') delete process.env[name];
  try {
    const unknown = only.filter((part) => !published.includes(part) && !OTHERS.includes(part));
    if (unknown.length > 0)
      throw new Refusal(`Nothing is published as ${unknown.join(', ')}: there are ${published.join(', ')}.`);
    const { version, time } = readRelease(folder);
    const wanted = published.filter((part) => only.includes(part));
    const { packages, refusals } = await lookAtAll(wanted, { folder, temporary, version, time });
    if (refusals.length > 0) throw new Refusal(refusals.join('\nerror: '));
    if (!dryRun) return publishAll(packages);
    for (const { what, isThere } of packages)
      console.log(`${isThere ? 'is there already' : 'can be published'}: ${what}`);
    return 0;
  } catch (error) {
    console.error(`error: ${errorOf(error)}\nNothing was published.`);
    return 1;
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
};
