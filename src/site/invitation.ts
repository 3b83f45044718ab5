import express, { type Router } from 'express';
import { DEFAULT_KEY_DAYS } from '../../contract/index.ts';
import type { Brand } from '../config/config.ts';
import { assetFolder } from './assets.ts';
import { codeBlock } from './html.ts';
import { htmlPage } from './page.ts';
import { servePage } from './serve.ts';

/** The path of the page, and of the request by which it uses an invitation. */
export const INVITATION_PATH = '/invitation';

const mainOf = (brand: Brand): string => `<h1>Your invitation</h1>
<p class="lead">Choose a name, and get a key for this service.</p>
<noscript><p>This page needs JavaScript.</p></noscript>
<form class="invitation" hidden>
<label for="nickname">Your name, as others see it</label>
<input id="nickname" type="text" required maxlength="50" autocomplete="nickname" aria-describedby="fault">
<p id="fault" class="fault" role="alert"></p>
<button type="submit" class="button">Make my key</button>
</form>
<section class="made" tabindex="-1" aria-labelledby="made" hidden>
<h2 id="made">Your key</h2>
<p>Copy it now and keep it safe: it is shown only this once. It lasts ${DEFAULT_KEY_DAYS} days.</p>
${codeBlock('')}
<p class="facts"></p>
<h2>Make a first call</h2>
${codeBlock('')}
<p>Or call any operation <a href="docs/">from the browser</a>: <b>Authorize</b> has the key already, in this tab alone.
<a href="guides/start">Start</a> leads on from here.</p>
</section>
<script type="module" src="${assetFolder(brand)}/invitation.js"></script>`;

/** `/invitation`: the page of an invitation. The token stands after `#`, which only the page's script reads. */
export const invitationPage = (brand: Brand): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  const page = {
    path: INVITATION_PATH,
    title: 'Invitation',
    description: 'The page of an invitation to this service.',
    styles: ['invitation.css'],
  };
  servePage(router, INVITATION_PATH, () => htmlPage({ ...page, main: mainOf(brand) }, brand));
  return router;
};
