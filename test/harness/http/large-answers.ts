// Answers that no kernel keeps whole for a caller who does not take them.

const CALLS = 16;

const url = (n: number, length: number) => `https://example.com/${n}/`.padEnd(length, 'x');

/** The input of `game.create` for a game of 340 KB, the most that there can be. */
export const largeGame = {
  title: 'large',
  description: 'x'.repeat(5000),
  extraInfo: {
    screenshots: Array.from({ length: 50 }, (_, n) => url(n, 2048)),
    downloads: Array.from({ length: 50 }, (_, n) => ({
      name: 'x'.repeat(200),
      url: url(n, 4096),
      password: 'x'.repeat(200),
    })),
  },
};

/** A request, as it goes on the wire, that is answered with five megabytes: with a large game, again and again. */
export const largeRequest = (id: string): string => {
  const calls = Array.from({ length: CALLS }, (_, n) => [n, { json: { id } }] as const);
  const body = JSON.stringify(Object.fromEntries(calls));
  return [
    `POST /api/trpc/${calls.map(() => 'game.getById').join(',')}?batch=1 HTTP/1.1`,
    'Host: gateway',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n');
};
