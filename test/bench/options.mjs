import { Command, InvalidArgumentError, Option } from 'commander';

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

const usualConnections = ({ fairness, distance }) => {
  if (fairness) return [256];
  return distance === undefined ? [1, 16, 64, 256] : [64];
};

/** What the bench is asked for: by default its table of crowds. */
export const readOptions = (operations) => {
  const options = new Command('npm run bench --')
    .description(
      'Measures the gateway with crowds of callers, within and beyond what it can carry: answers per second, latency, ' +
        'refusals, and CPU time per answer of service and database. On MariaDB with durable flags, or on SQLite.',
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
    .addOption(new Option('--growth', 'instead: how queries grow with the database: 10 000, 100 000, 1 000 000 games'))
    .option('--sizes <list>', 'the sizes for --growth', (text) => list(text).map(whole), [10_000, 100_000, 1_000_000])
    .option('--distance <list>', 'on a database whose replies come so many milliseconds later', (text) =>
      list(text).map(whole),
    )
    .option('--fairness', 'instead: how one caller fares beside another with 256 connections')
    .option('--authors', 'instead: what lists by author cost beside lists by type')
    .addOption(
      new Option('--engine <name>', 'the database, but of --growth and --cost')
        .choices(['mariadb', 'sqlite'])
        .default('mariadb'),
    )
    .addOption(
      new Option(
        '--before <folder>',
        'another version, built, to set beside this one; repeatable, not for --growth',
      ).argParser(folder),
    )
    .addOption(
      new Option(
        '--env <variables>',
        "this version with NAME=VALUE set, or 'A=1 B=2', beside it; repeatable, not for --growth",
      ).argParser(variables),
    )
    .option('--one-caller', 'all connections have one key and one address')
    .option('--obedient', 'a refused caller waits for Retry-After')
    .option('--cost', 'instead: what each --before or --env costs, in CPU time per answer')
    .option('--write [heading]', 'put the result into RESULTS.md')
    .parse()
    .opts();
  if (options.distance !== undefined) {
    if (options.engine === 'sqlite') throw new Error('SQLite is at no distance.');
  }
  if (options.cost && !options.before && !options.env) throw new Error('--cost takes a --before or an --env.');
  return { ...options, connections: options.connections ?? usualConnections(options) };
};
