/**
 * Says which of the replies that the published document declares the tests have seen, by operation, status and reason,
 * and fails a whole run that has not seen them all. Jest loads reporters untransformed, therefore plain
 * JavaScript.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The replies that the document declares: `{procedure, status, reason}`, the reason of a success being `ok`. Not those of an
 * operation that answers with a stream, whose tests read it by a client of their own: test/event/tail.test.ts.
 */
const declaredReplies = () => {
  const { paths } = JSON.parse(readFileSync('openapi/openapi.json', 'utf8'));
  const answeredOnce = Object.values(paths).filter(({ post }) => post['x-streaming'] === undefined);
  return answeredOnce.flatMap(({ post: { operationId: procedure, responses } }) =>
    Object.entries(responses).flatMap(([status, { content }]) =>
      Object.keys(content['application/json'].examples ?? { ok: {} }).map((reason) => ({ procedure, status, reason })),
    ),
  );
};

const lineOf = ({ procedure, status, reason }) => `${procedure} ${status} ${reason}`;

/** `rows` in columns, each as wide as it must be. */
const inColumns = (rows) => {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd(),
  );
};

/** How many of the declared reasons were seen: a row for each operation, a column for each status. */
const table = (declared, seen) => {
  const distinct = (member) => [...new Set(declared.map((reply) => reply[member]))];
  const statuses = distinct('status').toSorted((a, b) => Number(a) - Number(b));
  const cell = (procedure, status) => {
    const replies = declared.filter((reply) => reply.procedure === procedure && reply.status === status);
    return replies.length === 0 ? '' : `${replies.filter((reply) => seen.has(lineOf(reply))).length}/${replies.length}`;
  };
  const rows = distinct('procedure').map((procedure) => [
    procedure,
    ...statuses.map((status) => cell(procedure, status)),
  ]);
  return inColumns([['', ...statuses], ...rows]);
};

/** Whether the run was asked for part of the tests only. */
const isPartial = ({ testPathPatterns, testNamePattern, nonFlagArgs, onlyChanged, onlyFailures, shard }) =>
  testPathPatterns.isSet() ||
  nonFlagArgs.length > 0 ||
  Boolean(testNamePattern || onlyChanged || onlyFailures || shard);

/** The project that runs every test of what the service answers; the other databases see part of them. */
const PROJECT = 'sqlite';
const hasRun = (contexts) => [...contexts].some(({ config: { displayName } }) => displayName.name === PROJECT);

export default class CoverageReporter {
  #isPartial;
  #error;

  constructor(globalConfig) {
    this.#isPartial = isPartial(globalConfig);
  }

  onRunStart() {
    // The workers, which are started later, inherit it.
    process.env.SEEN_REPLIES = mkdtempSync(join(tmpdir(), 'content-gateway-seen-'));
  }

  onRunComplete(contexts, { wasInterrupted }) {
    const folder = process.env.SEEN_REPLIES;
    if (!this.#isPartial && !wasInterrupted && hasRun(contexts)) this.#report(join(folder, PROJECT));
    rmSync(folder, { recursive: true });
  }

  /** What Jest asks for at the end: an error fails the run. */
  getLastError() {
    return this.#error;
  }

  #report(file) {
    const declared = declaredReplies();
    const seen = new Set(existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []);
    process.stderr.write(`\nReplies seen, of those declared:\n${table(declared, seen).join('\n')}\n`);
    const holes = declared.map(lineOf).filter((line) => !seen.has(line));
    if (holes.length === 0) return;
    this.#error = new Error(`Declared replies that no test has seen:\n${holes.join('\n')}`);
    process.stderr.write(`\n${this.#error.message}\n`);
  }
}
