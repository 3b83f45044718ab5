// Starts the reference. Redoc would otherwise start by itself, with its own defaults.
import { makeReachable } from './reachable.js';
import { init } from './redoc.js';
import { followScheme } from './scheme.js';

const ROOT = new URL('../', location.href);
const DOCUMENT = new URL('openapi.json', ROOT);

/** Where the samples of the document find the service, unless the operator names its address. */
const LOCAL = 'http://localhost:3000';

/** Adds to each operation the way to the page that sends it, and lets its samples call this service. */
const atHome = (document) => {
  const address = document.servers[0]?.url;
  const own = /^https?:/.test(address) ? address : ROOT.href.replace(/\/$/, '');
  document.info.description += `\n\nThe whole document: [JSON](${DOCUMENT}), [YAML](${ROOT}openapi.yaml).`;
  for (const { post } of Object.values(document.paths)) {
    const [tag] = post.tags;
    post.description += `\n\n[Try it](${ROOT}docs/#/${tag}/${post.operationId})`;
    for (const sample of post['x-codeSamples'] ?? []) sample.source = sample.source.replaceAll(LOCAL, own);
  }
  return document;
};

/** The languages of the samples, in their order: by itself, Redoc shows some only. */
const languagesOf = ({ paths }) => {
  const [{ post }] = Object.values(paths);
  return (post['x-codeSamples'] ?? []).map(({ lang, label }) => ({ lang, label }));
};

const response = await fetch(DOCUMENT);
if (!response.ok) throw new Error(`${DOCUMENT} answered ${response.status}.`);

followScheme();
// Given the document and not its address, Redoc offers no links to the services of others.
const openapi = atHome(await response.json());
init(openapi, {
  codeSamples: { languages: languagesOf(openapi) },
  router: 'hash',
  disableTelemetry: true,
  hideLoading: true,
});

makeReachable(document.querySelector('redoc'));
