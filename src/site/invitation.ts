import express, { type Request, type Response, type Router } from 'express';
import { z } from 'zod';
import { contract, DEFAULT_KEY_DAYS, issuesOf } from '../../contract/index.ts';
import { AppError } from '../base/errors.ts';
import type { Database } from '../db/database.ts';
import { BodyReader } from '../http/message/body.ts';
import { sendJson } from '../http/message/reply.ts';
import { assertJson, assertMethod, readOnly } from '../http/middleware/preconditions.ts';
import { textPayload } from '../rpc/payload.ts';
import type { RpcContext } from '../rpc/procedures.ts';
import { acceptInvitation } from '../user/invitations.ts';
import { codeBlock } from './html.ts';
import { htmlPage } from './page.ts';
import { assetOf, lazily, pagePolicy, revalidated } from './serve.ts';

const PATH = '/invitation';
const BODY_LIMIT = 4096;

/** The input of the page's own request, in the envelope of all calls. */
const Input = z.strictObject({
  json: z.strictObject({
    token: z.string().max(100),
    nickname: contract.user.updateProfile.body.shape.json.shape.nickname.unwrap(),
  }),
});

const MAIN = `<h1>Your invitation</h1>
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
<script type="module" src="assets/invitation.js"></script>`;

/** `/invitation`: the page of invitations, and the request by which it makes a user and a key. */
export const invitationPage = ({
  config,
  db,
  now,
  protection: { limits, maintenance },
}: Pick<RpcContext, 'config' | 'protection'> & { db: Database; now: () => Date }): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  const bodies = new BodyReader();
  const accept = async (request: Request, response: Response): Promise<void> => {
    const { state } = response.locals;
    assertJson(request, response);
    state.expectCalls(request, response, config);
    // A token is guessed no faster than a key.
    await limits?.limiter.keyLookUp(state.address, state.noteRateLimit).reserve();
    await maintenance.assertWritable();
    const { envelope } = textPayload(await bodies.readForCall(request, BODY_LIMIT));
    const { data, error } = Input.safeParse(envelope);
    if (error) throw new AppError('VALIDATION_FAILED', { issues: issuesOf(error.issues) });
    const json = await acceptInvitation(db, data.json, now(), state.deadline);
    sendJson(response, 200, JSON.stringify({ result: { data: { json } } }));
  };
  const description = 'The page of an invitation to this service.';
  const page = lazily(() =>
    revalidated(
      'html',
      htmlPage(
        { path: PATH, title: 'Invitation', description, main: MAIN, styles: ['assets/invitation.css'] },
        config.brand,
      ),
    ),
  );
  router.all(PATH, pagePolicy(), (request, response, next) => {
    assertMethod(request, response, ['GET', 'HEAD', 'POST']);
    return request.method === 'POST' ? accept(request, response) : page(request, response, next);
  });
  for (const type of ['css', 'js']) {
    router.all(
      `/assets/invitation.${type}`,
      readOnly,
      lazily(() => revalidated(type, assetOf(`invitation.${type}`))),
    );
  }
  return router;
};
