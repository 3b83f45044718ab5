import { escapeHtml } from '../../site/html.ts';
import type { Health } from '../doctor/check.ts';
import { COUNTED_DAYS } from './keys.ts';
import { STATUS_PATHS } from './paths.ts';
import { describeWebhooks } from '../../app/instances/registry.ts';
import type { Status, Usage } from './status.ts';

const MIB = 2 ** 20;
const BADGES: Record<Health, string> = { ok: 'good', warning: 'caution', failure: 'bad', skipped: 'plain' };

type Cell = string | number | undefined;

const cellOf = (cell: Cell): string => (cell === undefined ? '–' : escapeHtml(String(cell)));

/** A table of cells that are HTML. */
const htmlTable = (headings: readonly string[], rows: readonly (readonly string[])[]): string => {
  const head = headings.map((heading) => `<th scope="col">${heading}</th>`).join('');
  const body = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`);
  return `<div class="scroll" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>
${body.join('\n')}
</tbody></table></div>`;
};

const table = (headings: readonly string[], rows: readonly (readonly Cell[])[], empty: string): string =>
  rows.length === 0
    ? `<p class="muted">${empty}</p>`
    : htmlTable(
        headings,
        rows.map((cells) => cells.map(cellOf)),
      );

const section = (id: string, title: string, content: string): string =>
  `<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>
${content}</section>`;

const usageTable = (title: string, usages: readonly Usage[]): string =>
  table(
    [title, 'In use', 'Limit', 'Waiting'],
    usages.map(({ name, used, limit, waiting }) => [name, used, Math.round(limit), waiting]),
    'Nothing was used yet.',
  );

const doctorTable = ({ doctor }: Status): string =>
  htmlTable(
    ['Result', 'Check', 'What was found'],
    doctor.map(({ check, health, message, cure }) => [
      `<span class="badge badge-${BADGES[health]}">${health}</span>`,
      escapeHtml(check),
      cure === undefined ? escapeHtml(message) : `${escapeHtml(message)} <em>${escapeHtml(cure)}</em>`,
    ]),
  );

const failureRows = ({ failures }: Status): Cell[][] =>
  failures.flatMap(({ reason, total, last }) =>
    last.map(({ at, requestId, procedure, status }, index) => [
      index === 0 ? reason : '',
      index === 0 ? total : '',
      at.toISOString(),
      status,
      procedure,
      requestId,
    ]),
  );

/** The state of a process as a complete page, without scripts. */
export const statusPage = (status: Status, name: string): string => {
  const { process: running, limiters, pools, slowRequests, keys, migrations, instances, maintenance } = status;
  const title = `Status · ${escapeHtml(name)}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${STATUS_PATHS.icon.slice(1)}">
<link rel="stylesheet" href="${STATUS_PATHS.styles.slice(1)}">
</head>
<body>
<main id="main">
<h1>${title}</h1>
<p class="lead">Version ${escapeHtml(running.version)} on ${escapeHtml(running.host)}, process ${running.pid}, since ${running.startedAt.toISOString()}; Node.js ${escapeHtml(running.node)}, ${Math.round(running.memoryBytes / MIB)} MiB. Database: ${escapeHtml(running.database)}.</p>
${maintenance ? `<div class="note note-caution"><p><strong>No writes are taken</strong> since ${maintenance.since}${maintenance.note === null ? '' : `: ${escapeHtml(maintenance.note)}`}.</p></div>` : ''}
<p>The same as JSON: <a href="${STATUS_PATHS.json.slice(1)}">admin.json</a>. Metrics: <a href="metrics">metrics</a>.</p>
${section('doctor', 'Doctor', doctorTable(status))}
${section('failures', 'Failed requests of this process', table(['Reason', 'In all', 'Last', 'Status', 'Operation', 'Request'], failureRows(status), 'None.'))}
${section(
  'slow',
  'Slow requests of this process',
  table(
    ['Time', 'Milliseconds', 'Status', 'Operation', 'Reason', 'Request'],
    slowRequests.map(({ at, ms, status: code, procedure, reason, requestId }) => [
      at.toISOString(),
      Math.round(ms),
      code,
      procedure,
      reason,
      requestId,
    ]),
    'None.',
  ),
)}
${section('limiters', 'Calls by limiter', usageTable('Limiter', limiters))}
${section('pools', 'Connections by pool', usageTable('Pool', pools))}
${section(
  'instances',
  'Instances',
  table(
    ['Host', 'Version', 'Workers', 'Webhooks', 'Seen'],
    instances.map((one) => [one.host, one.version, one.workers, describeWebhooks(one), one.seenAt]),
    'None was seen.',
  ),
)}
${section(
  'keys',
  `Keys by calls of ${COUNTED_DAYS} days`,
  table(
    ['Calls', 'Key', 'Name', 'User', 'Clients'],
    keys.map(({ calls, id, name: called, nickname, clients }) => [calls, id, called, nickname, clients.join(', ')]),
    'No key was used.',
  ),
)}
${section(
  'migrations',
  'Migrations',
  table(
    ['Migration', 'State'],
    [
      ...migrations.pending.map((migration) => [migration, 'pending']),
      ...migrations.applied.toReversed().map((migration) => [migration, 'applied']),
    ],
    'None.',
  ),
)}
</main>
</body>
</html>
`;
};
