// Whether an operator's own names are everywhere, and ours nowhere.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const read = (path) => JSON.parse(readFileSync(here(path), 'utf8'));

/** The settings of another brand. */
export const BRAND = here('brand.json');

const leaves = (value) => (typeof value === 'object' ? Object.values(value).flatMap(leaves) : [String(value)]);
const namesIn = ({ homepage, author, environment, product, ...settings }, language) => [
  homepage,
  author.email,
  `${environment}_API_KEY`,
  `${product}-${language}/`,
  ...leaves(settings[language]),
];

/** Our own name, in whatever spelling. */
const OURS = /content[-_ ]?gateway/i;

const binary = /\.(jar|zip|crate|whl|gz|tgz|class)$/;
const built = /(^|\/)(node_modules|target|dist|__pycache__)\//;

/**
 * Looks for the names of our own brand in an SDK made for another one.
 *
 * @param folder the SDK
 * @throws Error that says in which file a name of ours is, or that names of the brand are in none
 */
export const checkBrand = (folder, language) => {
  const [ours, theirs] = [read('../../../openapi/sdk/settings.json'), read('brand.json')];
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !binary.test(path) && !built.test(path.slice(folder.length)));
  const texts = files.map((path) => [path.slice(folder.length + 1), `${path}\n${readFileSync(path, 'utf8')}`]);
  for (const name of namesIn(ours, language))
    for (const [path, text] of texts) if (text.includes(name)) throw new Error(`${path} says ${name}, which is ours`);
  const said = texts.flatMap(([path, text]) => text.split('\n').map((line) => `${path}: ${line.trim()}`));
  const named = said.filter((line) => OURS.test(line.replaceAll(folder, '')));
  if (named.length > 0) throw new Error(`our name is in ${named.length} lines:\n${named.slice(0, 40).join('\n')}`);
  const wanted = [...leaves(theirs[language]), theirs.client, theirs.service];
  const missing = wanted.filter((name) => !texts.some(([, text]) => text.includes(name)));
  // Any text will do for a licence here: the settings themselves.
  if (readFileSync(join(folder, 'LICENSE'), 'utf8') !== readFileSync(BRAND, 'utf8')) {
    throw new Error('LICENSE is not the file that the settings name');
  }
  if (missing.length > 0) throw new Error(`no file says ${missing.join(', ')}`);
};
