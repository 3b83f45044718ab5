import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The dashboard of compose.yaml, as its file says. */
export const dashboardOf = (root) =>
  JSON.parse(readFileSync(join(root, 'deploy/observe/dashboards/content-gateway.json'), 'utf8'));

/**
 * A query as Grafana sends it, with all instances chosen.
 *
 * @param seconds from one scrape to the next, and from one point to the next
 */
export const queryOf = ({ expr }, seconds) =>
  expr.replaceAll('$__rate_interval', `${4 * seconds}s`).replaceAll('$instance', '.*');

/** The name of a series, by the labels that its query left. */
export const legendOf = ({ legendFormat }, labels) =>
  legendFormat.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, name) => labels[name] ?? '');
