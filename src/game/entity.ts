import { EntitySchema } from 'typeorm';
import { contentColumns, type ContentRow, linkEntities } from '../content/entity.ts';
import { gameKind } from './kind.ts';
import { columnTypes, jsonTransformer } from '../db/sql/columns.ts';
import type { Engine } from '../db/dialect.ts';
import { repositoryOf } from '../db/manager.ts';

/** The members of `extraInfo` as they are stored; the original author has a column of its own. */
export interface StoredExtraInfo {
  originalName?: string | undefined;
  fileSize?: string | undefined;
  platforms?: string[] | undefined;
  screenshots?: string[] | undefined;
  downloads?: { name: string; url: string; password?: string | undefined }[] | undefined;
}

export interface GameRow extends ContentRow {
  coverUrl: string | null;
  gameType: string | null;
  isFree: boolean;
  version: string | null;
  originalAuthor: string | null;
  extraInfo: StoredExtraInfo;
}

/** The columns of a game that lists show, as the drivers return them. */
export interface GameSummaryColumns {
  cover_url: string | null;
  game_type: string | null;
  is_free: number;
  version: string | null;
}

/** The columns of a whole game. */
export interface GameColumns extends GameSummaryColumns {
  description: string | null;
  original_author: string | null;
  /** JSON of `StoredExtraInfo`. */
  extra_info: string;
}

export const gamesIn = repositoryOf<GameRow>('Game');

export const gameEntities = (engine: Engine): EntitySchema[] => {
  const { text, longText, flag } = columnTypes(engine);
  return [
    new EntitySchema<GameRow>({
      name: gameKind.entity,
      tableName: gameKind.table,
      columns: {
        ...contentColumns(engine),
        coverUrl: { ...text(2048), name: 'cover_url', nullable: true },
        gameType: { ...text(32), name: 'game_type', nullable: true },
        isFree: { ...flag, name: 'is_free' },
        version: { ...text(32), nullable: true },
        originalAuthor: { ...text(200), name: 'original_author', nullable: true },
        extraInfo: { ...longText, name: 'extra_info', transformer: jsonTransformer },
      },
      indices: [
        { name: 'games_latest', columns: ['createdAt', 'id', 'viewCount', 'likeCount', 'favoriteCount', 'gameType'] },
        { name: 'games_type_latest', columns: ['gameType', 'createdAt', 'id'] },
        { name: 'games_views', columns: ['viewCount', 'createdAt', 'id', 'gameType'] },
        { name: 'games_type_views', columns: ['gameType', 'viewCount', 'createdAt', 'id'] },
        { name: 'games_likes', columns: ['likeCount', 'createdAt', 'id', 'gameType'] },
        { name: 'games_favorites', columns: ['favoriteCount', 'createdAt', 'id', 'gameType'] },
        { name: 'games_author', columns: ['authorId', 'createdAt'] },
        { name: 'games_original_author', columns: ['originalAuthor', 'id'] },
      ],
      foreignKeys: [
        {
          name: 'fk_games_author',
          target: 'User',
          columnNames: ['authorId'],
          referencedColumnNames: ['id'],
          onDelete: 'CASCADE',
        },
      ],
    }),
    ...linkEntities(engine, gameKind),
  ];
};
