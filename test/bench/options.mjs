import { Command, InvalidArgumentError, Option } from 'commander';

const PROFILED = ['list', 'getById', 'toggle', 'create'];

const list = (text) => text.split(',').filter((part) => part !== '');

const whole = (text) => {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number above 0.');
};

const positive = (text) => {
  if (Number(text) > 0) return Number(text);
  throw new InvalidArgumentError('It must be a number above 0.');
};

/** One folder more. */
const folder = (path, before = []) => [...before, path];

/** One set of variables more. */
const variables = (text, before = []) => {
  if (text.split(' ').every((pair) => /^[A-Z_][A-Z0-9_]*=/.test(pair))) return [...before, text];
  throw new InvalidArgumentError('It must be NAME=VALUE, or several of them with a space between.');
};

const usualConnections = ({ crowd, fairness, distance }) => {
  if (fairness) return [256];
  if (distance !== undefined) return [64];
  return crowd ? [1, 16, 64, 256] : [1, 16, 64];
};

/** What the bench is asked for: by default its table. */
export const readOptions = (operations) => {
  const options = new Command('npm run bench --')
    .description(
      'Measures the gateway on MariaDB with durable flags, beside a bare limit and two idiomatic peers that answer the ' +
        'same: requests per second, latency, and CPU time per request of server and database.',
    )
    .addOption(
      new Option('--operations <list>', `only these, comma-separated, out of ${operations.join(', ')}`).argParser(
        (text) => {
          const names = list(text);
          const unknown = names.filter((name) => !operations.includes(name));
          if (unknown.length > 0) throw new InvalidArgumentError(`There is no ${unknown.join(', ')}.`);
          return names;
        },
      ),
    )
    .option('--connections <list>', 'numbers of connections', (text) => list(text).map(whole))
    .option('--games <n>', 'how many games the database holds', whole, 100_000)
    .option('--rounds <n>', 'how often each server gets its turn', whole, 5)
    .option('--seconds <n>', 'how long a turn takes', positive, 2)
    .option('--only-gateway', 'neither the bare limit nor the peers')
    .option('--no-peers', 'the bare limit, but not the peers')
    .addOption(new Option('--growth', 'instead: how queries grow with the database: 10 000, 100 000, 1 000 000 games'))
    .option('--sizes <list>', 'the sizes for --growth', (text) => list(text).map(whole), [10_000, 100_000, 1_000_000])
    .addOption(new Option('--profile <operation>', 'instead: CPU time by component').choices(PROFILED))
    .option('--soak <minutes>', 'instead: memory under mixed load', positive)
    .option('--crowd', 'instead: crowds within and beyond what it can carry')
    .option('--distance <list>', '--crowd on a database whose replies come so many milliseconds later', (text) =>
      list(text).map(whole),
    )
    .option('--fairness', 'instead: how one caller fares beside another with 256 connections')
    .addOption(
      new Option('--engine <name>', 'of --crowd, --fairness and --transfer')
        .choices(['mariadb', 'sqlite'])
        .default('mariadb'),
    )
    .addOption(
      new Option(
        '--before <folder>',
        'of --crowd, --fairness and --traces: another version, built, to set beside this one; repeatable, not for --traces',
      ).argParser(folder),
    )
    .addOption(
      new Option(
        '--env <variables>',
        "of --crowd and --fairness: this version with NAME=VALUE set, or 'A=1 B=2', beside it; repeatable",
      ).argParser(variables),
    )
    .option('--one-caller', 'of --crowd: all connections have one key and one address')
    .option('--obedient', 'of --crowd and --fairness: a refused caller waits for Retry-After')
    .option('--metrics', 'instead: what METRICS_PORT costs, in CPU time per request')
    .option('--traces', 'instead: what traces cost, in CPU time per request')
    .option(
      '--transfer',
      'instead: import and export of --games games, --rounds times: games per second, CPU time, memory',
    )
    .option('--log-sql', 'instead: print the statements that the gateway and the bare limit send')
    .option('--write [heading]', 'put the result into RESULTS.md')
    .parse()
    .opts();
  if (options.distance !== undefined) {
    if (options.engine === 'sqlite') throw new Error('SQLite is at no distance.');
    options.crowd = true;
  }
  if (options.operations?.includes('mix') && !options.crowd && !options.fairness) {
    throw new Error('Only --crowd and --fairness have a mix.');
  }
  return { ...options, connections: options.connections ?? usualConnections(options) };
};
