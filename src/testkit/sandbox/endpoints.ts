import type { Answer, Message, send } from '../../event/webhook/sender/send.ts';

/** Paths whose endpoints do not just take all: `/status/410`, `/flaky`, `/silent`. */
const STATUS = /\/status\/([2-5]\d\d)$/;
const FLAKY = /\/flaky$/;
const SILENT = /\/silent$/;
const MOST_REMEMBERED = 1000;

const answerOf = (status: number, text = ''): Answer => ({ status, text, body: text, retryAfter: undefined });
const noAnswer = (text: string): Answer => ({ status: undefined, text, body: '', retryAfter: undefined });

/** The answer to a message of the type `webhook.challenge`. */
const challengeIn = (body: string): string | undefined =>
  (JSON.parse(body) as { data: { challenge?: string } }).data.challenge;

/**
 * Endpoints of a sandbox, which sends nothing. Each answers the challenge and takes all messages, unless its path says otherwise:
 * `/status/503` answers so, `/flaky` takes a message at the second attempt only, `/silent` does not answer, not even the challenge.
 */
export const scriptedEndpoints = (): typeof send => {
  const tried = new Set<string>();
  return async ({ url, headers, body }: Message): Promise<Answer> => {
    const { pathname } = new URL(url);
    if (SILENT.test(pathname)) return noAnswer('It did not answer within 10 seconds.');
    const challenge = challengeIn(body);
    if (challenge !== undefined) return answerOf(200, JSON.stringify({ challenge }));
    const [, status] = STATUS.exec(pathname) ?? [];
    if (status !== undefined) return answerOf(Number(status));
    const id = headers['webhook-id'] ?? '';
    if (FLAKY.test(pathname) && !tried.has(id)) {
      if (tried.size >= MOST_REMEMBERED) tried.clear();
      tried.add(id);
      return answerOf(503);
    }
    return answerOf(200, 'OK');
  };
};
