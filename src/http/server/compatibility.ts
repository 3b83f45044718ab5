import type { RequestListener, ServerResponse } from 'node:http';

// What Node and Express leave to others of HTTP/1.1.

const SCHEME_AND_HOST = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * A request target from its path on. Of an absolute one (RFC 9112, section 3.2.2) Express takes the host apart too, and
 * answers by no means of ours where it cannot.
 */
export const fromPath = (target: string): string => {
  if (target.startsWith('/') || !SCHEME_AND_HOST.test(target)) return target;
  const rest = target.replace(SCHEME_AND_HOST, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
};

/**
 * For the server's event `checkContinue`: says that the body may come (RFC 9110, section 10.1.1) and has `answer` answer,
 * when everything before on the connection is answered. Node, left alone, says so at once; of a reply that waits for
 * others, those words then come between head and body.
 */
export const inviteBody =
  (answer: RequestListener): RequestListener =>
  (request, response) => {
    const invite = (): void => {
      response.writeContinue();
      answer(request, response);
    };
    if (hasTurn(response)) invite();
    else response.once('socket', invite);
  };

const hasTurn = ({ socket }: ServerResponse): boolean => socket !== null;
