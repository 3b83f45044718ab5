// What the types promise; compiled only, as a page is, without Node's own.
import { ApiError, ContentGateway } from 'content-gateway-client';
import type { GatewayReply, Page, ReactionType, GameListOutput, Viewer } from 'content-gateway-client';

const gateway = new ContentGateway({ baseUrl: 'https://content.example.com', apiKey: undefined, fetch });

/** A value that is new to an enumeration can be received. */
export const viewer: Viewer = { favorited: true, reaction: 'love' };

/** It is text; those known are offered. */
export const reactionOf = ({ reaction }: Viewer): string => {
  const known: ReactionType = 'like';
  return reaction === known ? known : (reaction ?? 'none');
};

export const first = async (search?: string): Promise<string | undefined> => {
  for await (const game of gateway.game.listAll({ search, sortBy: 'likes' })) return game.title;
  return undefined;
};

/** Where a list begins, the SDK knows. */
export const fromTheFirst = [
  gateway.game.list(),
  gateway.image.list({ search: 'a' }),
  gateway.game.list({ cursor: 'a' }),
];

export const listed: Promise<GatewayReply<Page<GameListOutput>>> = gateway.game
  .list({ limit: 20, page: 1 }, { signal: AbortSignal.timeout(1000), headers: { 'X-Trace': undefined } })
  .withResponse();

/** The one parameter that an operation requires may be given alone. */
export const alone = [
  gateway.game.getById('a'),
  gateway.game.batchCreate([{ title: 'a' }]),
  gateway.user.updateAvatar(null),
  gateway.game.getRelated('a'),
  gateway.user.search('a'),
];

// @ts-expect-error -- but only where there is one.
export const among = gateway.game.toggleReaction('a');

export const pages: AsyncIterable<Page<GameListOutput>> = gateway.game.listPages({ search: 'a' });

export const newer: Promise<{ items: string[] }> = gateway
  .withOptions({ apiKey: null, onAttempt: ({ waitMs }) => void waitMs?.toFixed() })
  .call<{ items: string[] }>('game.getNewest', { limit: 3 });

// @ts-expect-error -- a cap on records is for walks.
export const capped = gateway.game.list({ limit: 20, page: 1 }, { maxRecords: 3 });

// @ts-expect-error -- what is sent must be known.
export const unknown = gateway.game.toggleReaction({ gameId: 'a', type: 'love' });

// @ts-expect-error -- what reads takes no idempotency key.
export const read = gateway.game.getById({ id: 'a' }, { idempotencyKey: 'a' });

// @ts-expect-error -- an error is narrowed before its reason is read.
export const reason = (error: unknown): string | null => error.reason;

export const narrowed = (error: unknown): string | null => (error instanceof ApiError ? error.reason : null);
