/**
 * @engines sqlite
 * @tier long
 * @needs promtool
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { metricSources } from '../../src/app/context.ts';
import { Metrics } from '../../src/telemetry/metrics/metrics.ts';
import { startApp, type TestApp } from '../harness/app/app.ts';

// What Prometheus' own tool says of the metrics and of the files in deploy/prometheus/.

declare global {
  var TEST_PROMTOOL: string;
}

const promtool = async (args: string[], input = ''): Promise<{ code: number; output: string }> => {
  const child = spawn(TEST_PROMTOOL, args);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()));
  // It may end before it has read.
  child.stdin.on('error', () => undefined).end(input);
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
};

let app: TestApp | undefined;
describe('alert rules', () => {
  afterEach(async () => {
    await app?.stop();
    app = undefined;
  });

  test('the metrics are as Prometheus wants them', async () => {
    const metrics = new Metrics();
    app = await startApp({ observer: metrics.observer, rates: 'on' });
    metrics.addSources(metricSources(app.context));
    const game = await app.aGame();
    await app.call('game.getById', { id: game.id });
    await app.fail('game.getById', { id: 'x' }, 404);
    const text = await metrics.text();
    expect(await promtool(['check', 'metrics'], text)).toEqual({ code: 0, output: '' });
    // It does find fault.
    const { code, output } = await promtool(['check', 'metrics'], text.replaceAll('_calls_total', '_calls'));
    expect({ code, output }).toEqual({ code: 3, output: expect.stringContaining('should have "_total" suffix') });
  });

  test.each([
    // As docs/monitoring.md has it: promtool check config deploy/prometheus/prometheus.yaml
    ['check', 'config', 'deploy/prometheus/prometheus.yaml'],
    ['check', 'rules', '--lint=all', '--lint-fatal', 'deploy/prometheus/alerts.yaml'],
    ['test', 'rules', 'deploy/prometheus/alerts.test.yaml'],
  ])('promtool %s %s', async (...args) => {
    const { code, output } = await promtool(args);
    expect([code, output]).toEqual([0, expect.stringMatching(/SUCCESS/)]);
  });

  // As docs/monitoring.md has it, but for its address and its data: prometheus --config.file=deploy/prometheus/prometheus.yaml
  test('Prometheus itself takes the configuration, and loads the alerts', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'content-gateway-prometheus-'));
    const child = spawn(join(dirname(TEST_PROMTOOL), 'prometheus'), [
      `--config.file=${resolve('deploy/prometheus/prometheus.yaml')}`,
      `--storage.tsdb.path=${folder}`,
      '--web.listen-address=127.0.0.1:0',
    ]);
    const ended = once(child, 'close');
    try {
      let log = '';
      const address = await new Promise<string>((found, failed) => {
        child.stderr.setEncoding('utf8').on('data', (text: string) => {
          log += text;
          const [, at] = /Listening on" address=(\S+)/.exec(log) ?? [];
          if (at && log.includes('Server is ready to receive web requests')) found(at);
        });
        child.once('close', () => failed(new Error(log)));
      });
      const reply = await fetch(`http://${address}/api/v1/rules`);
      const { data } = (await reply.json()) as { data: { groups: { rules: { name: string }[] }[] } };
      const named = readFileSync('deploy/prometheus/alerts.yaml', 'utf8').match(/- alert: \w+/g);
      expect(data.groups.flatMap(({ rules }) => rules.map(({ name }) => `- alert: ${name}`))).toEqual(named);
    } finally {
      child.kill();
      await ended;
      await rm(folder, { recursive: true });
    }
  });
});
