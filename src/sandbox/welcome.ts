import { scopes } from '../../contract/index.ts';
import type { Start } from '../app/server.ts';
import { PROGRAM } from '../base/version.ts';
import type { Demo } from './records.ts';
import { sandboxKeys } from './sandbox.ts';

const BODY = '{"json":{"title":"My first game","gameType":"RPG","tagNames":["demo"]}}';

const firstCall = (url: string, key: string): string =>
  `curl ${url}/api/trpc/game.create -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${BODY}'`;

const paragraphs = (...texts: string[]): string => `${texts.join('\n\n')}\n`;

/** Names and their values, one below the other. */
const list = (rows: readonly (readonly [name: string, value: string])[]): string => {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name}: ${' '.repeat(width - name.length)}${value}`).join('\n');
};

const addresses = (url: string): [string, string][] => [
  ['Address', url],
  ['Docs', `${url}/docs/`],
  ['Guide', `${url}/guides/start`],
];

/** The command that makes a key, if none was shown. */
const makeKey = (user: string): string => `${PROGRAM} keys create --user ${user} --scopes ${scopes.join(',')}`;

/** The message at the start of the service. */
export const welcome = ({ title, url }: Start, demo: Demo | undefined): string => {
  if (!demo) {
    const users =
      'A key is shown only when it is made. To make one, with the id or the nickname of a user from `users list`:';
    return paragraphs(title, list(addresses(url)), users, makeKey('<user>'));
  }
  const { key, expiresAt } = demo;
  const intro = 'The database was empty. It now has a user `demo` with a few records.';
  return key === undefined
    ? paragraphs(title, list(addresses(url)), `${intro} Create an API key for it:`, makeKey(demo.userId))
    : paragraphs(
        title,
        list([...addresses(url), ['API key', key]]),
        `${intro} The key has every scope, is shown only this once, and expires on ${expiresAt.toISOString().slice(0, 10)}.`,
        'Paste it into Authorize on the docs page, or create a game from a shell:',
        firstCall(url, key),
      );
};

/** The message at the start of the sandbox. */
export const sandboxWelcome = ({ title, url }: Start, seed: number | undefined): string =>
  paragraphs(
    `${title}, sandbox`,
    list([...addresses(url), ['Data', `${url}/sandbox`]]),
    ...(seed === undefined ? [] : [`Some calls fail, by the seed ${seed}: ${url}/sandbox/faults lists them.`]),
    'Everything is kept in memory and starts afresh each time. The API keys:',
    list(sandboxKeys.map(({ key, name }) => [key, name])),
    'Create a game from a shell:',
    firstCall(url, sandboxKeys[0]?.key ?? ''),
  );
