import { MAX_BATCH_CALLS, operations, procedures, streams } from '../../../contract/index.ts';
import { aliasesOf, nearest, plain } from './nearest.ts';

/** Longer names are not compared. */
const MAX_NAME = 100;

const all = operations.map(({ id }) => id);
const routers = [...new Set(operations.map(({ router }) => router))];
const namesIn = (router: string): string[] =>
  operations.filter((operation) => operation.router === router).map(({ name }) => name);

const routerAliases = aliasesOf('routers');
const nameAliases = aliasesOf('procedures');

const code = (word: string): string => `\`${word}\``;

const either = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;

/** The procedures that an unknown name most likely means. */
export const meantIds = (name: string): string[] => {
  if (name.length > MAX_NAME) return [];
  const sought = plain(name);
  const same = all.find((id) => plain(id) === sought);
  if (same !== undefined) return [same];
  const [first = '', ...rest] = name.split(/[^\p{L}\p{N}_-]+/u).filter((part) => part !== '');
  if (rest.length === 0) return operations.filter((one) => plain(one.name) === sought).map(({ id }) => id);
  const router = nearest(first, routers, routerAliases);
  const found = router === undefined ? undefined : nearest(rest.join(''), namesIn(router), nameAliases);
  return found === undefined ? [] : [`${router}.${found}`];
};

/** The router at the beginning of a name, which may be misspelled. */
const routerOf = (name: string): string | undefined =>
  nearest(name.split(/[^\p{L}\p{N}_-]+/u).find((part) => part !== '') ?? '', routers, routerAliases);

const LISTED = '`/docs/` lists all procedures.';

/** `Did you mean `game.list`?`, or the names to choose from; undefined if no name is similar. `show` formats a name. */
export const meantProcedures = (name: string, show: (id: string) => string): string | undefined => {
  if (name.length > MAX_NAME) return undefined;
  const found = meantIds(name);
  if (found.length > 0) return `Did you mean ${either(found.map(show).map(code))}?`;
  const router = routerOf(name);
  if (router === undefined) return undefined;
  return `${code(router)} has the procedures ${namesIn(router).map(code).join(', ')}.`;
};

/** The hint for an unknown procedure in a path. */
export const unknownProcedure = (name: string): string => {
  if (name === '') return `Name a procedure after the last slash, as in \`/api/trpc/game.list\`. ${LISTED}`;
  if (streams.some(({ id }) => id === name))
    return `\`${name}\` answers with a stream: call it by itself, outside of batches.`;
  const calls = name.slice(0, MAX_BATCH_CALLS * MAX_NAME).split(/,|%2c/i);
  if (calls.length > 1 && calls.every((call) => procedures.some(({ id }) => id === call))) {
    return 'Several procedures in one path are a batch: add `?batch=1` to the URL.';
  }
  const near = meantProcedures(name, (id) => id);
  return near === undefined
    ? `The procedures are those of ${either(routers.map(code))}; their names are case-sensitive. ${LISTED}`
    : `${near} Names are case-sensitive. ${LISTED}`;
};
