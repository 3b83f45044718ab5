import type { RequestHandler } from 'express';
import type { Brand } from '../config/config.ts';
import { codeBlock, escapeHtml } from './html.ts';
import { htmlPage } from './page.ts';
import { pagePolicy } from './serve.ts';

interface SandboxRecord {
  id: string;
  title: string;
}

/** The contents of a sandbox, and the headers by which calls ask for failures. The sandbox has them in `locals`. */
interface SandboxContents {
  keys: readonly { key: string; user: string; scopes: readonly string[]; ended?: string }[];
  counts: { users: number; games: number; imagePosts: number; tags: number };
  games: readonly SandboxRecord[];
  imagePosts: readonly SandboxRecord[];
  seed: number | null;
  headers: Readonly<Record<string, string>>;
}

/** The number of records of each kind on the page; the JSON has all. */
const SHOWN = 10;

const code = (text: string): string => `<code>${escapeHtml(text)}</code>`;

/** A table from cells of HTML. It scrolls by itself. */
const table = (label: string, head: readonly string[], rows: readonly (readonly string[])[]): string =>
  `<div class="scroll" tabindex="0" role="group" aria-label="${label}"><table>
<thead><tr>${head.map((cell) => `<th scope="col">${cell}</th>`).join('')}</tr></thead>
<tbody>
${rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('\n')}
</tbody>
</table></div>`;

const records = (title: string, all: readonly SandboxRecord[]): string => `<h3>${title}</h3>
${table(
  title,
  ['Title', 'Id'],
  all.slice(0, SHOWN).map(({ id, title: text }) => [escapeHtml(text), code(id)]),
)}`;

const pageOf = ({ keys, counts, seed, headers, ...found }: SandboxContents, brand: Brand): string =>
  htmlPage(
    {
      path: '/sandbox',
      title: 'Sandbox',
      description: 'The keys and the records of this sandbox, and the failures that calls can ask for.',
      styles: ['guides.css'],
      main: `<div class="prose">
<h1>Sandbox</h1>
<p class="lead">Everything here is made up and in memory, and the keys are public. The <a href="guides/sandbox">guide</a>
explains it. Programs get all of this as JSON.</p>
<h2>Keys</h2>
${table(
  'Keys',
  ['Key', 'User', 'Scopes'],
  keys.map(({ key, user, scopes, ended }) => [code(key), escapeHtml(user), ended ?? scopes.map(code).join(', ')]),
)}
<h2>Records</h2>
<p>${counts.games} games, ${counts.imagePosts} image posts, ${counts.users} users and ${counts.tags} tags. The newest:</p>
${records('Games', found.games)}
${records('Image posts', found.imagePosts)}
<h2>Failures</h2>
<p>A call fails or comes late if it asks for that by a header:</p>
${table(
  'Headers',
  ['Header', 'Value'],
  Object.entries(headers).map(([name, form]) => [code(name), escapeHtml(form)]),
)}
${seed === null ? '' : `<p>Some calls fail by themselves, by the seed ${seed}: <a href="sandbox/faults">so far</a>.</p>\n`}<h2>Put it back</h2>
<p>This call brings all records back to how they were at the start:</p>
${codeBlock('curl -X POST <span data-base="./">http://localhost:3000</span>/sandbox/reset')}
</div>`,
    },
    brand,
  );

/** `/sandbox` for people: the keys, the newest records, and how to make calls fail. */
export const sandboxPage = (brand: Brand): RequestHandler => {
  const setPolicy = pagePolicy();
  return (request, response, next) => {
    const contents = response.locals['sandbox'] as SandboxContents | undefined;
    if (contents === undefined) next();
    else setPolicy(request, response, () => response.type('html').send(pageOf(contents, brand)));
  };
};
