import express, { type Router } from 'express';
import { contract, type SentOf } from '../../contract/index.ts';
import type { Config } from '../config/config.ts';
import { readOnly } from '../http/middleware/preconditions.ts';
import { byAddress } from './base.ts';
import { codeBlock, escapeHtml } from './html.ts';
import { htmlPage, rootFrom } from './page.ts';
import { keyHelp } from './publication.ts';
import { pagePolicy, revalidated } from './serve.ts';
import { version } from '../base/version.ts';

const PATH = '/';

/** The other pages and files, by their paths from the root. */
const links = ({ sandbox, sdksDir }: Config) => ({
  api: 'api/trpc',
  guides: 'guides/',
  reference: 'docs/',
  errors: 'errors',
  errorsJson: 'errors.json',
  changelog: 'guides/changelog',
  openapi: 'openapi.json',
  openapi30: 'openapi-3.0.json',
  openapiYaml: 'openapi.yaml',
  llms: 'llms.txt',
  llmsFull: 'llms-full.txt',
  mcp: 'mcp',
  live: 'healthz',
  ready: 'readyz',
  ...(sandbox && { sandbox: 'sandbox' }),
  ...(sdksDir !== undefined && { sdks: 'sdks/' }),
});

/** For programs: the name of the service, and its addresses; relative ones for a caller that names no host. */
const description = (config: Config, base: string | undefined) => ({
  name: config.brand.name,
  version,
  links: {
    ...Object.fromEntries(Object.entries(links(config)).map(([name, path]) => [name, `${base ?? '.'}/${path}`])),
    source: config.brand.source,
  },
});

/** A call that needs no key and also works on an empty database. */
const { path } = contract.game.list;
const input: SentOf<typeof contract.game.list> = { limit: 3, page: 1 };

const firstCall = (config: Config, base: string | undefined): string => {
  const address = escapeHtml(base ?? `http://localhost:${config.port}`);
  // Only the browser knows the address for sure: a proxy in front may not pass it on.
  const shown = config.publicUrl === undefined ? `<span data-base="${rootFrom(PATH)}">${address}</span>` : address;
  return codeBlock(`curl ${shown}${path} \\
  -H 'Content-Type: application/json' \\
  -d '${escapeHtml(JSON.stringify({ json: input }))}'`);
};

interface Card {
  title: string;
  href: string;
  text: string;
}

/** The first steps of each kind of visitor. */
const START: readonly Card[] = [
  {
    title: 'Call the API',
    href: 'guides/start',
    text: 'Make a first call, get a key, publish a game, and find your way through lists and errors.',
  },
  {
    title: 'Use a client library',
    href: 'guides/sdks',
    text: 'TypeScript, Python, Go, Java and Rust, with retries, paging and typed errors built in.',
  },
  {
    title: 'Test your client in CI',
    href: 'guides/ci',
    text: 'Start a sandbox with known keys and failures on demand, or verify a live deployment.',
  },
  {
    title: 'Run the service',
    href: 'guides/operators',
    text: 'Choose a database, configure the service, issue keys, and watch its health.',
  },
];

const lookUp = ({ sdksDir, brand: { source } }: Config): readonly Card[] => [
  {
    title: 'Reference',
    href: 'docs/',
    text: 'every operation with its input, output, errors and code samples, to call from the browser',
  },
  { title: 'Sandbox', href: 'guides/sandbox', text: 'a copy of the service with data and keys, to try writing' },
  { title: 'Types', href: 'guides/trpc', text: 'every operation as types, for clients of tRPC' },
  { title: 'Verify', href: 'guides/ci#verify', text: 'check that a deployment does what it documents' },
  ...(sdksDir === undefined ? [] : [{ title: 'Packages', href: 'sdks/', text: 'the SDKs, to install from here' }]),
  { title: 'Errors', href: 'errors', text: 'what each error means and how to fix it' },
  { title: 'Limits', href: 'guides/limits', text: 'sizes, rates and quotas' },
  { title: 'Changelog', href: 'guides/changelog', text: 'what is new in each version' },
  { title: 'Status', href: 'readyz', text: 'whether the service is ready for requests' },
  ...(source === undefined ? [] : [{ title: 'Source', href: escapeHtml(source), text: 'the code of this service' }]),
];

const MACHINES: readonly Omit<Card, 'text'>[] = [
  { title: 'OpenAPI 3.1', href: 'openapi.json' },
  { title: 'OpenAPI 3.1 as YAML', href: 'openapi.yaml' },
  { title: 'OpenAPI 3.0', href: 'openapi-3.0.json' },
  { title: 'errors.json', href: 'errors.json' },
  { title: 'llms.txt', href: 'llms.txt' },
  { title: 'MCP server', href: 'guides/mcp' },
];

const sandboxNote = (
  seed: number | undefined,
): string => `<div class="note note-caution"><p><strong>This is a sandbox.</strong> Its data is in memory and its keys are
public. <a href="sandbox">Its catalogue</a> lists the keys, the records and the failures you can ask for.${seed === undefined ? '' : ` Some calls fail by themselves, by the seed ${seed}: <a href="sandbox/faults">so far</a>.`}</p></div>
`;

const linkTo = ({ title, href }: Pick<Card, 'title' | 'href'>): string => `<a href="${href}">${title}</a>`;

const page = (config: Config, base: string | undefined): string => {
  const { brand } = config;
  const cards = START.map((card) => `<li class="card"><h3>${linkTo(card)}</h3><p>${card.text}</p></li>`);
  const rows = lookUp(config).map((card) => `<li>${linkTo(card)}: ${card.text}</li>`);
  return htmlPage(
    {
      path: PATH,
      title: brand.name,
      description: `${brand.name}: an HTTP API for games, image posts and users. Guides, reference, errors and SDKs.`,
      main: `<h1>${escapeHtml(brand.name)}</h1>
<p class="lead">An HTTP API for games, image posts and users. Every operation is one POST with JSON, and reading what is
published needs no key.</p>
${config.sandbox ? sandboxNote(config.sandboxSeed) : ''}<h2>Make a call now</h2>
${firstCall(config, base)}
<p>Paste it into a terminal: no key, nothing to install. Or call any operation <a href="docs/">from the browser</a>.
Publishing needs a key. ${keyHelp(config, rootFrom(PATH))}</p>
<h2>Where to start</h2>
<ul class="cards">
${cards.join('\n')}
</ul>
<h2>Look something up</h2>
<ul class="two">
${rows.join('\n')}
</ul>
<p class="muted">For programs: ${MACHINES.map(linkTo).join(', ')}.</p>`,
    },
    brand,
  );
};

/**
 * `/`: the start page. Clients that prefer JSON to HTML get the addresses as JSON. curl, which accepts any type, gets
 * the page by default.
 */
export const landing = (config: Config): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  const json = byAddress(config, (base) => revalidated('json', JSON.stringify(description(config, base))));
  const html = byAddress(config, (base) => revalidated('html', page(config, base)));
  router.all(PATH, readOnly, pagePolicy(), (request, response, next) => {
    response.vary('Accept');
    const serve = request.accepts(['html', 'json']) === 'json' ? json : html;
    return serve(request, response, next);
  });
  return router;
};
