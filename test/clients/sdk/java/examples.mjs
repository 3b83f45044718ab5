// node examples.mjs <README> <folder> <package>: writes each example of a README into a class, to be compiled.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the examples take for granted. */
const GIVEN = {
  cursor: 'String',
  gateway: 'ContentGateway',
  id: 'String',
  input: 'GameInput',
  key: 'String',
  oldSecret: 'String',
  orderId: 'String',
  sandbox: 'String',
  secret: 'String',
};

const JSON = 'com.fasterxml.jackson.databind';
const HTTP = 'com.sun.net.httpserver';

const EXAMPLE = /^```java\n(.*?)^```$/gms;

const [readme, folder, name] = process.argv.slice(2);
const examples = Array.from(readFileSync(readme, 'utf8').matchAll(EXAMPLE), ([, code]) => code);
if (examples.length === 0) throw new Error(`${readme} has no examples`);

const programOf = (code, index) => {
  const given = Object.entries(GIVEN).filter(([variable]) => !code.includes(`var ${variable} =`));
  const parameters = given.map(([variable, type]) => `${type} ${variable}`).join(', ');
  const packages = [name, `${name}.model`, JSON, HTTP, 'java.time', 'java.util', 'java.util.concurrent'];
  const imports = packages.map((path) => `import ${path}.*;\n`).join('');
  return `${imports}\nfinal class Example${index} {\n  void run(${parameters}) {\n${code}  }\n}\n`;
};

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
examples.forEach((code, index) => {
  const file = code.startsWith('import') ? 'QuickStart.java' : `Example${index}.java`;
  writeFileSync(join(folder, file), code.startsWith('import') ? code : programOf(code, index));
});
