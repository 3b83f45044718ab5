import { readFileSync } from 'node:fs';
import MiniSearch from 'minisearch';
import { errorOf, operations, reasons } from '../contract/index.ts';

/** An entry of the search: a section of a guide, an operation or an error. */
interface Entry {
  /** Its address, from the root of the service. */
  id: string;
  title: string;
  /** The kind of entry, or the title of the guide. */
  context: string;
  text: string;
}

const OPTIONS = { fields: ['title', 'context', 'text'], storeFields: ['title', 'context'] };

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', '#39': "'" };

/** The words of HTML, without blocks of code, and the links beside headings. */
const wordsOf = (html: string): string =>
  html
    .replaceAll(/<pre[^]*?<\/pre>|<a class="anchor"[^]*?<\/a>|<!--[^]*?-->|<[^>]*>/g, ' ')
    .replaceAll(/&(#39|\w+);/g, (_, name: string) => ENTITIES[name] ?? ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** A guide as entries: its beginning, and each of its sections. */
const sectionsOf = ({ name, title, html }: SearchedGuide): Entry[] =>
  html.split(/(?=<h[23] id=")/).map((part) => {
    const [, id, heading] = /^<h[23] id="([^"]+)">([^]*?)<\/h[23]>/.exec(part) ?? [];
    return {
      id: `guides/${name}${id === undefined ? '' : `#${id}`}`,
      title: heading === undefined ? title : wordsOf(heading),
      context: heading === undefined ? 'Guide' : title,
      text: wordsOf(heading === undefined ? part : part.slice(part.indexOf('</h'))),
    };
  });

const operationEntries = (): Entry[] =>
  operations.map(({ id, router, route: { summary, description } }) => ({
    id: `docs/#/${router}/${id}`,
    title: id,
    context: summary,
    text: description,
  }));

const errorEntries = (): Entry[] =>
  reasons.map((reason) => {
    const { status, message, hint, cause, fix } = errorOf(reason);
    return {
      id: `errors#${reason}`,
      title: reason,
      context: `Error ${status}`,
      text: [message, hint, cause, fix].join(' '),
    };
  });

/** A guide, as the search reads it. */
interface SearchedGuide {
  name: string;
  title: string;
  html: string;
}

/** The files of the search that all pages have: its index, and the library that reads it. */
export const searchFiles = (guides: readonly SearchedGuide[]): [name: string, text: string][] => {
  const search = new MiniSearch<Entry>(OPTIONS);
  search.addAll([...operationEntries(), ...errorEntries(), ...guides.flatMap(sectionsOf)]);
  const library = readFileSync('node_modules/minisearch/dist/es/index.js', 'utf8');
  const { version, license }: { version: string; license: string } = JSON.parse(
    readFileSync('node_modules/minisearch/package.json', 'utf8'),
  );
  return [
    ['search.json', `${JSON.stringify({ options: OPTIONS, index: search })}\n`],
    [
      'minisearch.js',
      `/*! MiniSearch ${version}, ${license}, by Luca Ongaro: https://github.com/lucaong/minisearch */\n${library.replace(/^\/\/# sourceMappingURL.*$/m, '')}`,
    ],
  ];
};
