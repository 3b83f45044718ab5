import type { Contract, OutputOf } from '../../contract/index.ts';
import type { ContentRecord } from '../content/records.ts';
import { contentView } from '../content/view.ts';
import type { GameColumns, GameSummaryColumns, StoredExtraInfo } from './entity.ts';

type GameSummary = OutputOf<Contract['game']['list']>['items'][number];
type Game = OutputOf<Contract['game']['getById']>;

/** A game as lists show it. */
export const gameSummaryView = (record: ContentRecord<GameSummaryColumns>): GameSummary =>
  Object.assign(contentView(record), {
    coverUrl: record.row.cover_url,
    gameType: record.row.game_type,
    isFree: record.row.is_free === 1,
    version: record.row.version,
  });

/** A whole game. */
export const gameView = (record: ContentRecord<GameColumns>): Game => {
  const extra = JSON.parse(record.row.extra_info) as StoredExtraInfo;
  return Object.assign(gameSummaryView(record), {
    description: record.row.description,
    extraInfo: {
      originalName: extra.originalName ?? null,
      originalAuthor: record.row.original_author,
      fileSize: extra.fileSize ?? null,
      platforms: extra.platforms ?? [],
      screenshots: extra.screenshots ?? [],
      downloads: (extra.downloads ?? []).map(({ name, url, password }) => ({ name, url, password: password ?? null })),
    },
  });
};
