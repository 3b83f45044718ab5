import type { Meddle, PassingReply, PassingRequest } from './meddler.ts';

// Faults to plant in what passes through a meddler.

export type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- faults are planted anywhere

/** A reply whose JSON was changed in place. */
export const changed = (reply: PassingReply, change: (json: Json) => void): PassingReply => {
  const json = JSON.parse(reply.body) as Json;
  change(json);
  return { ...reply, body: JSON.stringify(json) };
};

export const calls = (id: string, { path }: PassingRequest): boolean => path.split('?')[0] === `/api/trpc/${id}`;
export const inputOf = ({ body }: PassingRequest): Json => {
  try {
    return (JSON.parse(body) as Json)['json'] ?? {};
  } catch {
    return {};
  }
};

/** Changes the replies to an operation. */
export const replies =
  (id: string, change: (reply: PassingReply, request: PassingRequest) => PassingReply): Meddle =>
  async (request, forward) => {
    const reply = await forward(request);
    return calls(id, request) ? change(reply, request) : reply;
  };

/** Changes the outputs of an operation. */
export const outputs = (id: string, change: (output: Json, input: Json) => void): Meddle =>
  replies(id, (reply, request) =>
    reply.status === 200 && request.method === 'POST'
      ? changed(reply, ({ result }) => change(result.data.json, inputOf(request)))
      : reply,
  );

/** Changes the failures of an operation. */
export const failures = (id: string, change: (failure: Json) => void): Meddle =>
  replies(id, (reply) =>
    reply.status >= 400 && reply.body !== '' ? changed(reply, ({ error }) => change(error.json)) : reply,
  );

/** Changes the inputs of an operation, and nothing beside them: what is left as it is passes to the letter. */
export const inputs =
  (id: string, change: (input: Json) => Json): Meddle =>
  (request, forward) => {
    const input = inputOf(request);
    const isInput = calls(id, request) && typeof input === 'object' && Object.keys(input).length > 0;
    const json = isInput ? change(input) : input;
    return forward(
      json === input ? request : { ...request, body: JSON.stringify({ ...JSON.parse(request.body), json }) },
    );
  };

export const withoutHeader = (id: string, name: string): Meddle =>
  replies(id, (reply) => ({
    ...reply,
    headers: Object.fromEntries(Object.entries(reply.headers).filter(([header]) => header !== name)),
  }));

/** The page of a proxy. */
export const html = (status: number): PassingReply => ({
  status,
  headers: { 'content-type': 'text/html' },
  body: '<html>Bad gateway</html>',
});
