import { sandboxKeys } from './sandbox.ts';

const BODY = '{"json":{"title":"My first game","gameType":"RPG","tagNames":["demo"]}}';

const firstCall = (url: string, key: string): string =>
  `curl ${url}/api/trpc/game.create -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${BODY}'`;

const paragraphs = (...texts: string[]): string => `${texts.join('\n\n')}\n`;

const addresses = (name: string, url: string): string => `${name} at ${url}\nDocs: ${url}/docs`;

/** What is printed when the service has started. `demoKey` is the key that was just made for the demo, if it was. */
export const welcome = (url: string, demoKey: string | undefined): string =>
  demoKey === undefined
    ? paragraphs(addresses('Content gateway', url))
    : paragraphs(
        addresses('Content gateway', url),
        'The database was empty: it now has a user `demo` with a few records and this API key, shown only once:',
        `  ${demoKey}`,
        'Paste it into Authorize on the docs page, or create a game from a shell:',
        firstCall(url, demoKey),
      );

/** What is printed when the sandbox has started. */
export const sandboxWelcome = (url: string): string =>
  paragraphs(
    addresses('Content gateway, sandbox', url),
    'Everything is in memory and as it was at the last start. These keys always work:',
    sandboxKeys.map(({ key, name }) => `  ${key}  ${name}`).join('\n'),
    'Create a game from a shell:',
    firstCall(url, sandboxKeys[0]?.key ?? ''),
  );
