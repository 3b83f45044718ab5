/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import { strayVariables } from '../../src/base/suggestions/variables.ts';
import { readConfig } from '../../src/config/config.ts';
import { telemetryNames, variableNames } from '../../src/config/variables.ts';

/** What is said of a variable that is set. */
const saidOf = (name: string): string | undefined =>
  strayVariables([name], [...variableNames, ...telemetryNames]).map(({ message }) => message)[0];

describe('stray variables', () => {
  test.each([
    ['DATBASE_URL', 'DATABASE_URL'],
    ['DATABASEURL', 'DATABASE_URL'],
    ['database_url', 'DATABASE_URL'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['DB_URL', 'DATABASE_URL'],
    ['DATABASE_READ_ULR', 'DATABASE_READ_URL'],
    ['PROT', 'PORT'],
    ['PORTS', 'PORT'],
    ['WORKER', 'WORKERS'],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['LOG_LEVLE', 'LOG_LEVEL'],
    ['TRUST_PROXYS', 'TRUST_PROXY'],
    ['TRUSTED_PROXIES', 'TRUST_PROXY'],
    ['CORS_ORIGIN', 'CORS_ORIGINS'],
    ['RATE_LIMITS', 'RATE_LIMIT'],
    ['AUTOMIGRATE', 'AUTO_MIGRATE'],
    ['BRAND_COLOUR', 'BRAND_COLOR'],
    ['SHUTDOWN_TIMEOUT', 'SHUTDOWN_TIMEOUT_MS'],
    ['OTEL_EXPORTER_OLTP_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
    ['OTEL_SERVICENAME', 'OTEL_SERVICE_NAME'],
    ['OTEL_TRACE_SAMPLER', 'OTEL_TRACES_SAMPLER'],
  ])('%s is taken for a slip of %s', (name, meant) => {
    expect(saidOf(name)).toBe(`${name} is not a setting: did you mean ${meant}?`);
  });

  test.each([
    [
      'DATABASE_PASSWORD',
      /^DATABASE_PASSWORD is not a setting, and is ignored; there are DATABASE_URL, DATABASE_READ_URL$/,
    ],
    ['BRAND_SLOGAN', /there are BRAND_NAME, BRAND_COLOR, /],
    ['REDIS_HOST', /there are REDIS_URL, REDIS_TIMEOUT_MS$/],
  ])('%s looks like one of a family', (name, expected) => {
    expect(saidOf(name)).toMatch(expected);
  });

  test.each(['constructor', 'CONSTRUCTOR', '__proto__', 'toString', 'hasOwnProperty'])(
    'what is called %s is none of ours',
    (name) => expect(saidOf(name)).toBeUndefined(),
  );

  test('what others set is none of ours, nor is what we read', () => {
    const others =
      'PATH HOME HOSTNAME HOSTTYPE LOGNAME USER SHELL PWD OLDPWD LANG LC_ALL TERM TZ SHLVL TMPDIR EDITOR POST COST NODE_ENV ' +
      'NODE_OPTIONS NODE_VERSION YARN_VERSION INIT_CWD npm_config_cache npm_package_name npm_lifecycle_event http_proxy ' +
      'HTTPS_PROXY NO_PROXY SSH_AUTH_SOCK XDG_RUNTIME_DIR DISPLAY JOURNAL_STREAM INVOCATION_ID NOTIFY_SOCKET COLORTERM ' +
      'FORCE_COLOR CI GITHUB_ACTIONS PUBLIC_KEY SECURITYSESSIONID KUBERNETES_SERVICE_HOST KUBERNETES_PORT_443_TCP_ADDR ' +
      'OTEL_LOG_LEVEL OTEL_LOGS_EXPORTER OTEL_METRICS_EXPORTER OTEL_METRIC_EXPORT_INTERVAL OTEL_PROPAGATORS ' +
      'OTEL_BLRP_MAX_QUEUE_SIZE OTEL_EXPORTER_OTLP_LOGS_ENDPOINT OTEL_EXPORTER_OTLP_METRICS_ENDPOINT ' +
      'OTEL_NODE_RESOURCE_DETECTORS OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT OTEL_EXPORTER_OTLP_INSECURE ' +
      'REDIS_SERVICE_HOST REDIS_PORT REDIS_PORT_6379_TCP_PROTO DATABASE_SERVICE_PORT MYSQL_ROOT_PASSWORD _';
    const ours = [...variableNames, ...telemetryNames];
    expect(strayVariables([...others.split(' '), ...ours], ours)).toEqual([]);
  });

  test('the configuration tells of them by their names only, an empty one counts as missing', () => {
    const { strays } = readConfig({ DATBASE_URL: 'mysql://me:s3cret@host/db', DATABASE_HOST: '', WORKERS: '2' });
    expect(strays).toEqual([
      { variable: 'DATBASE_URL', message: expect.stringContaining('did you mean DATABASE_URL?') },
    ]);
    expect(JSON.stringify(strays)).not.toContain('s3cret');
  });
});
