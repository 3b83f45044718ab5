// Starts the reference. Redoc would otherwise start by itself, with its own defaults.
import { atHome, here } from '../assets/address.js';
import { makeReachable } from './reachable.js';
import { init } from './redoc.js';
import { followScheme } from './scheme.js';

const DOCUMENT = `${here}/openapi.json`;

/** What a reader can take in at a glance; the rules of longer patterns, and of those with unseen characters, are told in words. */
const READABLE = /^[\x20-\x7e]{1,40}$/;

/** Leaves out the patterns that nobody reads: the document has them all. */
const withoutLongPatterns = (_name, value) => {
  if (typeof value?.pattern !== 'string' || READABLE.test(value.pattern)) return value;
  const { pattern: _, ...rest } = value;
  return rest;
};

/** Adds to each operation the way to the page that sends it. */
const withLinks = (document) => {
  document.info.description += `\n\nThe whole document: [JSON](${DOCUMENT}), [YAML](${here}/openapi.yaml).`;
  for (const { post } of Object.values(document.paths)) {
    const [tag] = post.tags;
    post.description += `\n\n[Try it](${here}/docs/#/${tag}/${post.operationId})`;
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
const openapi = withLinks(JSON.parse(atHome(await response.text()), withoutLongPatterns));
init(openapi, {
  codeSamples: { languages: languagesOf(openapi) },
  router: 'hash',
  disableTelemetry: true,
  hideLoading: true,
});

makeReachable(document.querySelector('redoc'));
