// node render.mjs <source> <target>: copies a file, or what is in a folder, into a folder; in texts, `{{go.module}}` becomes that
// setting, and in the paths of files, too, where a setting that holds dots, as a Java package does, becomes several folders.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readSettings, settingAt } from './settings.mjs';

const PLACE = /\{\{([a-z]+(?:\.[a-zA-Z]+)?)\}\}/g;

const [source, target] = process.argv.slice(2);
const settings = readSettings();

const filesOf = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length));

const files = statSync(source).isFile()
  ? [[source, basename(source)]]
  : filesOf(source).map((path) => [source + path, path]);

for (const [file, path] of files) {
  const copy = path.replaceAll(PLACE, (_, name) => settingAt(settings, name).replaceAll('.', '/'));
  mkdirSync(dirname(join(target, copy)), { recursive: true });
  writeFileSync(
    join(target, copy),
    readFileSync(file, 'utf8').replaceAll(PLACE, (_, name) => settingAt(settings, name)),
  );
}
