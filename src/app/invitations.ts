import express, { type Request, type Response, type Router } from 'express';
import { z } from 'zod';
import { contract, issuesOf } from '../../contract/index.ts';
import { AppError } from '../base/errors.ts';
import { BodyReader } from '../http/message/body.ts';
import { sendJson } from '../http/message/reply.ts';
import { assertJson, assertMethod } from '../http/middleware/preconditions.ts';
import { textPayload } from '../rpc/payload.ts';
import { INVITATION_PATH } from '../site/invitation.ts';
import { acceptInvitation } from '../user/invitations.ts';
import type { Context } from './context.ts';

const BODY_LIMIT = 4096;

/** The input of the page's own request, in the envelope of all calls. */
const Input = z.strictObject({
  json: z.strictObject({
    token: z.string().max(100),
    nickname: contract.user.updateProfile.body.shape.json.shape.nickname.unwrap(),
  }),
});

/** `POST /invitation`: the request by which the page of an invitation makes a user and a key. */
export const invitationRequests = ({ config, db, now, protection: { limits, maintenance } }: Context): Router => {
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
  router.all(INVITATION_PATH, (request, response, next) => {
    assertMethod(request, response, ['GET', 'HEAD', 'POST']);
    return request.method === 'POST' ? accept(request, response) : next();
  });
  return router;
};
