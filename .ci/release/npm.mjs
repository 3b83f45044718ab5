// The service as an npm package: compiled, and with declarations of what it exports.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { description, lock } from '../production.mjs';
import { productionSbom } from '../sbom.mjs';

/** What `npm start` and `npm run cli` run before anything else in a clone. */
const BUILD = 'node .ci/build-if-stale.mjs && ';

const { scripts, files, ...rest } = description;
const { start, cli } = scripts;
const released = {
  ...rest,
  scripts: { start: start.replace(BUILD, ''), cli: cli.replace(BUILD, '') },
  files: files.filter((path) => !path.startsWith('.ci/')),
};

const writeJson = (file, value) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);

/** Packs a compiled copy of the repository, whose description it changes. */
export const packService = ({ copy, out, run }) => {
  run('npx', 'tsc', '-p', 'tsconfig.types.json');
  writeJson(join(copy, 'package.json'), released);
  // `npm ci` beside an unpacked package installs what was tested. As `npm-shrinkwrap.json` it would hold for `npx`, too, but npm
  // then takes more than a minute, and the contract has another zod than those who import it.
  writeJson(join(copy, 'deploy/package-lock.json'), lock);
  run('npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', out);
  writeJson(join(out, `content-gateway-${released.version}.cdx.json`), productionSbom());
};
