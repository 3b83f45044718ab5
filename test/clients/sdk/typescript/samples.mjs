// node samples.mjs <folder> <outputs> <name> …: runs programs of the folder one after the other. What GameCreate prints goes to
// GameCreate.out in the other folder.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, outputs, ...names] = process.argv.slice(2);
const write = process.stdout.write.bind(process.stdout);
for (const name of names) {
  let output = '';
  process.stdout.write = (text) => {
    output += text;
    return true;
  };
  await import(pathToFileURL(join(folder, `${name}.js`)).href);
  process.stdout.write = write;
  writeFileSync(join(outputs, `${name}.out`), output);
}
