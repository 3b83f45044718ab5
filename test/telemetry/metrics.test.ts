/**
 * @engines none
 * @tier fast
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { procedures } from '../../contract/index.ts';
import { Histograms, Numbers } from '../../src/telemetry/metrics/cells.ts';
import { catalogue, type MetricDefinition, PREFIX } from '../../src/telemetry/metrics/catalogue.ts';
import { Metrics } from '../../src/telemetry/metrics/metrics.ts';
import { type Sample, samplesOf, sumsBy } from '../harness/documents/metrics.ts';

const definitions: [string, MetricDefinition][] = Object.entries(catalogue);
const guide = readFileSync('docs/monitoring.md', 'utf8');

/** The names of our metrics in a text, without the endings of histograms. */
const namesIn = (text: string): string[] =>
  [...text.matchAll(/\bcontent_gateway_(\w+)/g)].map(([, name = '']) =>
    name in catalogue ? name : name.replace(/_(bucket|sum|count)$/, ''),
  );

describe('metrics', () => {
  describe('docs/monitoring.md', () => {
    test('lists every metric as it is', () => {
      const [, table = ''] = /<!-- begin: the metrics -->([^]*?)<!-- end -->/.exec(guide) ?? [];
      const rows = [...table.matchAll(/^\| `(.+?)` +\| (.+?) +\|$/gm)];
      expect(rows.map(([, name, help]) => [name, help])).toEqual(
        definitions.map(([name, { labels, help }]) => [labels.length > 0 ? `${name}{${labels.join()}}` : name, help]),
      );
    });

    test('tells of every label', () => {
      const labels = new Set(definitions.flatMap(([, one]) => one.labels));
      const [, told = ''] = /^## What the labels mean$([^]*?)^## /m.exec(guide) ?? [];
      const missing = [...labels].filter((label) => !told.includes(`\`${label}\``));
      // Those of build_info say what they are.
      expect(missing).toEqual(['version', 'build', 'node', 'engine']);
    });

    test('tells of every alert', () => {
      const { groups } = parse(readFileSync('deploy/prometheus/alerts.yaml', 'utf8')) as {
        groups: { rules: { alert: string }[] }[];
      };
      const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
      const [, table = ''] = /^## Alerts$([^]*?)^## /m.exec(guide) ?? [];
      expect([...table.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name)).toEqual(alerts);
      const tests = readFileSync('deploy/prometheus/alerts.test.yaml', 'utf8');
      // Each fires, and each does not.
      for (const alert of alerts) {
        const all = [...tests.matchAll(new RegExp(`alertname: ${alert}\\b(,? *exp_alerts: \\[\\])?`, 'g'))];
        expect([alert, new Set(all.map(([, none]) => none === undefined))]).toEqual([alert, new Set([true, false])]);
      }
    });
  });

  test.each(['docs/monitoring.md', 'deploy/prometheus/alerts.yaml', 'deploy/prometheus/alerts.test.yaml'])(
    '%s names only metrics that there are',
    (file) => {
      const names = namesIn(readFileSync(file, 'utf8'));
      expect(names.filter((name) => !(name in catalogue))).toEqual([]);
    },
  );

  test('names, units and helps are by the conventions of Prometheus', () => {
    for (const [name, { type, help, labels }] of definitions) {
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
      if (type === 'histogram') expect(name).toMatch(/_(seconds|bytes)$/);
      expect(name).not.toMatch(/_(ms|milliseconds|kb|kilobytes|minutes|percent|bucket|sum|count)(_|$)/);
      expect(`${PREFIX}${name}`).toMatch(/^[a-z]+(_[a-z]+)*$/);
      for (const label of labels) expect(label).toMatch(/^[a-z]+$/);
      expect(help).toMatch(/^[A-Z].*\.$/);
    }
  });

  test('what a process exposes from the start is all that the catalogue has, but for what a service knows', async () => {
    const text = await new Metrics().text();
    const exposed = new Set([...text.matchAll(/^# TYPE content_gateway_(\w+)/gm)].map(([, name = '']) => name));
    const later = (
      'build_info buffered_changes buffered_changes_lost_total buffer_failures_total cache_lookups_total ' +
      'database_damaged_tables database_disk_free_bytes database_disk_size_bytes database_replica_lag_seconds database_size_bytes ' +
      'event_tails last_backup_timestamp_seconds ' +
      'migrations_pending redis_available redis_losses_total webhook_attempts_total ' +
      'webhook_lag_seconds'
    ).split(' ');
    expect(
      Object.keys(catalogue)
        .filter((name) => !exposed.has(name))
        .toSorted(),
    ).toEqual(later.toSorted());
    // Half of them have names of counters and are none.
    expect(text).not.toMatch(/nodejs_active/);
  });

  test('the counters of alerts start at 0, so that alerts see them rise, and no others do', async () => {
    const metrics = new Metrics();
    metrics.observer.database.pool('writer', () => ({ used: 0, idle: 0, limit: 1, waiting: 0 }));
    metrics.addSources({
      engine: 'sqlite',
      database: { latest: {}, replicaLags: new Map() },
      redis: { isConnected: true, losses: 0 },
      buffers: { game_views: { size: 0, lost: 0, failures: 0 } },
      tails: { size: 0 },
      webhooks: { counts: { delivered: 0, failed: 0 }, lagSeconds: undefined },
      lookUps: { keys: { hits: 0, misses: 0 } },
    });
    const samples = samplesOf(await metrics.text()).filter(({ name }) => /^content_gateway_.*_total$/.test(name));
    const alerts = readFileSync('deploy/prometheus/alerts.yaml', 'utf8');
    const asked = [...alerts.matchAll(/\b(content_gateway_\w+_total)(?:\{(\w+)=~?"([^"]+)"\})?\[/g)].map(
      ([, name = '', label, pattern = '']) =>
        (sample: Sample) =>
          sample.name === name && (!label || new RegExp(`^(?:${pattern})$`).test(sample.labels[label] ?? '')),
    );
    expect(asked.map((isAsked) => samples.some(isAsked))).toEqual(asked.map(() => true));
    expect(samples.filter((sample) => !asked.some((isAsked) => isAsked(sample)))).toEqual([]);
    expect(samples.filter(({ value }) => value !== 0)).toEqual([]);
    expect(
      sumsBy(
        samples.map((sample) => ({ ...sample, value: 1 })),
        'calls_total',
        'reason',
      ),
    ).toEqual({
      INTERNAL: procedures.length,
      OUTCOME_UNKNOWN: procedures.filter(({ reasons }) => reasons.includes('OUTCOME_UNKNOWN')).length,
    });
  });

  test('counters and histograms appear with their first count', async () => {
    const metrics = new Metrics();
    const named = async (): Promise<string[]> => {
      const ofList = samplesOf(await metrics.text()).filter(({ labels }) => labels['procedure'] === 'game.list');
      return [...new Set(ofList.map(({ name, labels }) => `${name} ${labels['status'] ?? ''}`.trim()))].toSorted();
    };
    const before = await named();
    expect(before).toEqual(['content_gateway_calls_total 500']);
    const call = metrics.observer.calls.begin('game.list');
    call.sent(0);
    call.answered(2);
    const ofHistogram = (name: string): string[] =>
      ['bucket', 'count', 'sum'].map((part) => `content_gateway_call_${name}_${part}`);
    expect(await named()).toEqual(
      [
        ...before,
        'content_gateway_calls_total 200',
        ...['answer_bytes', 'duration_seconds', 'input_bytes'].flatMap(ofHistogram),
      ].toSorted(),
    );
  });

  test('a histogram counts what is at most its bounds', async () => {
    const histograms = new Histograms('call_duration_seconds');
    const cell = histograms.at('game.list');
    for (const seconds of [0, 2 ** -12, 0.3, 0.5, 16, 17]) cell.observe(seconds);
    const { values } = await histograms.get();
    const at = (le: number | string): number | undefined => values.find(({ labels }) => labels['le'] === le)?.value;
    expect([2 ** -12, 0.25, 0.5, 1, 8, 16, '+Inf'].map(at)).toEqual([2, 2, 4, 4, 4, 5, 6]);
    const [sum, count] = values.slice(-2);
    expect(sum).toMatchObject({ metricName: 'content_gateway_call_duration_seconds_sum', value: 33.8 + 2 ** -12 });
    expect(count).toMatchObject({ metricName: 'content_gateway_call_duration_seconds_count', value: 6 });
  });

  test('a counter has one cell for the same labels', async () => {
    const counters = new Numbers('calls_total');
    counters.at('game.list', '200', '').n += 1;
    counters.at('game.list', '200', '').n += 1;
    counters.at('game.list', '500', 'INTERNAL').n += 1;
    expect((await counters.get()).values).toEqual([
      { labels: { procedure: 'game.list', status: '200', reason: '' }, value: 2 },
      { labels: { procedure: 'game.list', status: '500', reason: 'INTERNAL' }, value: 1 },
    ]);
  });
});
