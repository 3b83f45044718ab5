import { STATUS_CODES } from 'node:http';
import { operations as all } from '../../../contract/index.ts';
import { codeBlock, escapeHtml } from '../html.ts';
import { htmlPage, rootFrom } from '../page.ts';
import { htmlWithContact, keyHelp, type Publication } from '../publication.ts';
import { type Explanation, explanations } from './explanations.ts';
import express, { type Router } from 'express';
import type { Config } from '../../config/config.ts';
import { readOnly } from '../../http/middleware/preconditions.ts';
import { lazily, revalidated, servePage } from '../serve.ts';

/** The meaning of all reasons: `/errors` for people, `/errors.json`, `{errors: Explanation[]}`, for programs. */
export const errorPages = (config: Config): Router => {
  const explained = (): Explanation[] => explanations(config.publicUrl);
  const router = express.Router({ caseSensitive: true, strict: true });
  servePage(router, PATH, () => errorsPage(explained(), config));
  const asJson = lazily(() => revalidated('json', JSON.stringify({ errors: explained() })));
  router.all(`${PATH}.json`, readOnly, asJson);
  return router;
};

const PATH = '/errors';
const UNAUTHORIZED = 401;

const code = (text: string): string => `<code>${escapeHtml(text)}</code>`;

/** A sentence of the catalogue as HTML. */
const sentence = (text: string): string =>
  text
    .split('`')
    .map((part, index) => (index % 2 === 1 ? code(part) : escapeHtml(part)))
    .join('');

const idsOf = (isOne: (operation: (typeof all)[number]) => boolean): string =>
  all
    .filter(isOne)
    .map(({ id }) => id)
    .join();

/** Words for sets of operations that need no list. */
const namedSets: Record<string, string> = {
  '': 'None: it concerns a request that reaches no operation, or a batch.',
  [idsOf(() => true)]: 'Every operation.',
  [idsOf(({ effect }) => effect === 'write')]: 'Every operation that writes.',
  [idsOf(({ access }) => access !== 'public')]: 'Every operation that needs a key.',
};

const operationsOf = ({ operations }: Explanation): string =>
  namedSets[operations.join()] ?? operations.map(code).join(', ');

const section = (explanation: Explanation, publication: Publication): string => {
  const { reason, status, code: kind, number, message, cause, fix, retry, example } = explanation;
  const rows = [
    ['When it happens', sentence(cause)],
    ['How to fix it', htmlWithContact(sentence(fix), publication)],
    ['Should you retry?', sentence(retry.words)],
    ['Operations', operationsOf(explanation)],
  ];
  return `<section class="reason" id="${reason}">
<details>
<summary><h3>${reason}</h3> <span>${sentence(message)}</span></summary>
<p class="reason-kind"><span class="badge badge-plain">${status}</span> <span class="badge badge-plain">${kind}</span> <span class="badge badge-plain">${number}</span> <a href="#${reason}">Link to ${reason}</a></p>
<dl>
${rows.map(([label, words]) => `<dt>${label}</dt><dd>${words}</dd>`).join('\n')}
</dl>
<p>Example:</p>
${codeBlock(escapeHtml(JSON.stringify(example, null, 2)))}
</details>
</section>`;
};

const group = (status: number, members: readonly Explanation[], publication: Publication): string =>
  `<section class="reasons" aria-labelledby="status-${status}">
<h2 id="status-${status}">${status} ${STATUS_CODES[status]}</h2>
${status === UNAUTHORIZED ? `<p>${keyHelp(publication, rootFrom(PATH))}</p>\n` : ''}${members.map((member) => section(member, publication)).join('\n')}
</section>`;

const contents = (status: number, members: readonly Explanation[]): string =>
  `<h2>${status}</h2>
<ul>
${members.map(({ reason }) => `<li><a href="#${reason}">${reason}</a></li>`).join('\n')}
</ul>`;

/** The page about all reasons: the meaning and the fix of each, and whether to try again. */
const errorsPage = (explained: readonly Explanation[], publication: Publication): string => {
  const statuses = [...new Set(explained.map(({ status }) => status))];
  const groups = statuses.map((status) => [status, explained.filter((one) => one.status === status)] as const);
  return htmlPage(
    {
      path: PATH,
      title: 'Errors',
      description: 'Every error of this API: when it happens, how to fix it, and whether to try again.',
      styles: ['errors.css'],
      scripts: ['errors.js'],
      main: `<h1>Errors</h1>
<p class="lead">Every failed request gives its reason in <code>data.reason</code> and links to this page in <code>data.docs</code>.
Here is what each reason means, how to fix it, and whether to try again.</p>
<p>Programs can read all of this as <a href="errors.json">errors.json</a>.</p>
<form class="filter" role="search" hidden>
<label for="filter">Filter by reason, status or words</label>
<input id="filter" type="search" placeholder="Such as 429, KEY_EXPIRED or retry" autocomplete="off" spellcheck="false">
<p class="muted" role="status"></p>
</form>
<div class="columns">
<nav class="side" aria-label="Reasons">
${groups.map(([status, members]) => contents(status, members)).join('\n')}
</nav>
<article class="prose">
${groups.map(([status, members]) => group(status, members, publication)).join('\n')}
</article>
</div>`,
    },
    publication.brand,
  );
};
