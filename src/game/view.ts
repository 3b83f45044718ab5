import type { Contract, OutputOf } from '../../contract/index.ts';
import type { ContentRecord } from '../content/records.ts';
import { contentView } from '../content/view.ts';
import type { StoredExtraInfo, StoredGame, StoredGameSummary } from './kind.ts';

type GameSummary = OutputOf<Contract['game']['list']>['items'][number];
type Game = OutputOf<Contract['game']['getById']>;

/** A game as lists show it. */
export const gameSummaryView = (record: ContentRecord<StoredGameSummary>): GameSummary =>
  Object.assign(contentView(record), {
    coverUrl: record.row.coverUrl,
    gameType: record.row.gameType,
    isFree: record.row.isFree === 1,
    version: record.row.version,
  });

/** A whole game. */
export const gameView = (record: ContentRecord<StoredGame>): Game => {
  const extra = JSON.parse(record.row.extraInfo) as StoredExtraInfo;
  return Object.assign(gameSummaryView(record), {
    description: record.row.description,
    extraInfo: {
      originalName: extra.originalName ?? null,
      originalAuthor: record.row.originalAuthor,
      fileSize: extra.fileSize ?? null,
      platforms: extra.platforms ?? [],
      screenshots: extra.screenshots ?? [],
      downloads: (extra.downloads ?? []).map(({ name, url, password }) => ({ name, url, password: password ?? null })),
    },
  });
};
