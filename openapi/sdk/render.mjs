// node render.mjs <source> <target>: copies a file, or what is in a folder, into a folder; in texts, `{{go.module}}` becomes that
// setting, `ContentGateway` the class of the setting `client`, and in the paths of files, too, where a setting that holds dots, as a Java package does, becomes several folders. Lines
// from one that has `{{#events}}` to one that has `{{/events}}` are for documents with a feed of events, and those of `{{#game.update}}` for
// documents with that operation; a file with no others is left out for an older document.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readSettings, settingAt } from './settings.mjs';

const SECTION = /^.*\{\{#([\w.]+)\}\}.*\n\n?([^]*?)^.*\{\{\/\1\}\}.*\n\n?/gm;
const PLACE = /\{\{([a-z]+(?:\.[a-zA-Z]+)?)\}\}/g;

/** The class in sources that compilers read as they are. */
const CLIENT = /ContentGateway/g;

const [source, target] = process.argv.slice(2);
const settings = readSettings();

const filesOf = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length));

const files = statSync(source).isFile()
  ? [[source, basename(source)]]
  : filesOf(source).map((path) => [source + path, path]);

const prepared = process.env.SDK_BUILD || fileURLToPath(new URL('../../build/sdk', import.meta.url));
const operations = JSON.parse(readFileSync(join(prepared, 'operations.json'), 'utf8'));
const present = new Set(operations.flatMap(({ id, followed }) => (followed ? [id, 'events'] : [id])));

for (const [file, path] of files) {
  const template = readFileSync(file, 'utf8');
  const text = template.replaceAll(SECTION, (_, name, lines) => (present.has(name) ? lines : ''));
  if (text === '' && template !== '') continue;
  const copy = path
    .replaceAll(CLIENT, settings.client)
    .replaceAll(PLACE, (_, name) => settingAt(settings, name).replaceAll('.', '/'));
  mkdirSync(dirname(join(target, copy)), { recursive: true });
  writeFileSync(
    join(target, copy),
    text.replaceAll(CLIENT, settings.client).replaceAll(PLACE, (_, name) => settingAt(settings, name)),
  );
}
