import { ask } from '../../../../openapi/kit/conformance/http/remote.ts';
import type { Config } from '../../../config/config.ts';
import { STATUS_PATHS } from '../../status/paths.ts';
import { command, jsonObject, option } from '../shared/command.ts';
import { CommandError, readSettings } from '../shared/common.ts';
import { print, printObject } from '../shared/output.ts';

const TIMEOUT_MS = 20_000;

/** The address of the metrics according to the settings. @throws CommandError where they have none */
const metricsUrl = ({ metrics }: Config): string => {
  if (!metrics) throw new CommandError('METRICS_PORT is not set: name the address of the metrics with --url.');
  const host = metrics.host === '0.0.0.0' || metrics.host === '::' ? 'localhost' : metrics.host;
  return `http://${host.includes(':') ? `[${host}]` : host}:${metrics.port}`;
};

/** @throws CommandError that says why there is no status */
const readStatus = async (base: string): Promise<object> => {
  const { href: url } = new URL(STATUS_PATHS.json, base);
  const { status, isOk, text } = await ask(url, TIMEOUT_MS).catch((error: Error) => {
    throw new CommandError(`${url} does not answer: ${error.message}`);
  });
  if (!isOk) throw new CommandError(`${url} answers ${status}: ${text.trim()}`);
  try {
    return JSON.parse(text) as object;
  } catch {
    throw new CommandError(`${url} answers no JSON: it is not that of a gateway's metrics.`);
  }
};

export const statusCommand = command({
  summary: 'show the state of a running process',
  description:
    'Shows what the page /admin on the port of the metrics shows of a running process: its calls and connections, the ' +
    'last failed and slow requests, the busiest keys, the instances, the migrations, and what the doctor says.',
  input: {
    url: option('<address>', 'the address of the metrics (default: METRICS_HOST and METRICS_PORT)'),
    json: jsonObject,
  },
  examples: ['', '--url http://localhost:9464 --json'],
  run: async ({ url, json }) => {
    const config = readSettings();
    const status = await readStatus(url ?? metricsUrl(config));
    if (json) print(JSON.stringify(status));
    else printObject(status, false);
  },
});
