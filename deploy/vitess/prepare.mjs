#!/usr/bin/env node
// Prepares a keyspace for the shards of the records, by `vtctldclient`, from the unsharded keyspace that holds all tables:
//
//   node deploy/vitess/prepare.mjs --server localhost:15999 [--from content] [--to content_records] [--vtctldclient PATH]
//
// It creates the tables of vschema.json there, as they are in the unsharded keyspace, but without foreign keys: the rows that
// they refer to are on other servers. Then it applies vschema.json, by which rows find their shard. It changes nothing else,
// and can be run again.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    server: { type: 'string' },
    from: { type: 'string', default: 'content' },
    to: { type: 'string', default: 'content_records' },
    vtctldclient: { type: 'string', default: 'vtctldclient' },
  },
});
const { server, from, to, vtctldclient } = values;
if (!server) {
  console.error('Name the vtctld: --server HOST:PORT');
  process.exit(2);
}

const run = (...args) =>
  execFileSync(vtctldclient, ['--server', server, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
const vschema = fileURLToPath(new URL('vschema.json', import.meta.url));
const tables = Object.keys(JSON.parse(readFileSync(vschema, 'utf8')).tables);

const [primary] = JSON.parse(run('GetTablets', '--keyspace', from, '--tablet-type', 'primary', '--format', 'json'));
if (!primary) {
  console.error(`The keyspace ${from} has no primary.`);
  process.exit(1);
}
const { cell, uid } = primary.alias;
const { table_definitions: definitions = [] } = JSON.parse(
  run('GetSchema', '--tables', tables.join(','), `${cell}-${String(uid).padStart(10, '0')}`),
);
const missing = tables.filter((table) => !definitions.some(({ name }) => name === table));
if (missing.length > 0) {
  console.error(`The keyspace ${from} lacks ${missing.join(', ')}: run "migrate" first.`);
  process.exit(1);
}

/** The statement that creates a table, as SHOW CREATE TABLE has it, one column or key a line. */
const withoutForeignKeys = (statement) =>
  statement
    .split('\n')
    .filter((line) => !/^\s*CONSTRAINT\b.*\bFOREIGN KEY\b/.test(line))
    .join('\n')
    .replace(/,(?=\n\))/, '')
    .replace(/^CREATE TABLE /, 'CREATE TABLE IF NOT EXISTS ');

for (const { name, schema } of definitions) {
  run('ApplySchema', '--ddl-strategy', 'direct', '--sql', withoutForeignKeys(schema), to);
  console.log(`${to}.${name}`);
}
run('ApplyVSchema', '--vschema-file', vschema, to);
