import type { RequestListener, ServerResponse } from 'node:http';

// Parts of HTTP/1.1 that Node and Express do not implement.

const SCHEME_AND_HOST = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * The path and query of a request target. Express would also parse the host of an absolute one (RFC 9112, section
 * 3.2.2), and fails without a proper answer.
 */
export const fromPath = (target: string): string => {
  if (target.startsWith('/') || !SCHEME_AND_HOST.test(target)) return target;
  const rest = target.replace(SCHEME_AND_HOST, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
};

/**
 * The listener of the event `checkContinue`: sends 100 (RFC 9110, section 10.1.1) and lets `answer` answer when all
 * earlier requests of the connection are answered. Node sends it at once, possibly between the head and the body of an
 * earlier reply.
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
