import { EntitySchema } from 'typeorm';
import { contentColumns, type ContentRow, linkEntities } from '../content/entity.ts';
import { imageKind } from './kind.ts';
import { columnTypes } from '../db/sql/columns.ts';
import type { Engine } from '../db/dialect.ts';
import { repositoryOf } from '../db/manager.ts';

export interface ImagePostRow extends ContentRow {
  images: string;
  imageCount: number;
  moreImages: string | null;
}

/** The columns of an image post that lists show, as the drivers return them. */
export interface ImagePostSummaryColumns {
  /** JSON of the URLs that lists show. */
  images: string;
  image_count: number;
}

/** The columns of a whole image post. */
export interface ImagePostColumns extends ImagePostSummaryColumns {
  description: string | null;
  /** JSON of the URLs that follow those in `images`, null for none. The last column, so that lists never come near it. */
  more_images: string | null;
}

export const imagePostsIn = repositoryOf<ImagePostRow>('ImagePost');

export const imageEntities = (engine: Engine): EntitySchema[] => [
  new EntitySchema<ImagePostRow>({
    name: imageKind.entity,
    tableName: imageKind.table,
    columns: {
      ...contentColumns(engine),
      images: columnTypes(engine).longText,
      imageCount: { ...columnTypes(engine).count, name: 'image_count', default: 0 },
      moreImages: { ...columnTypes(engine).longText, name: 'more_images', nullable: true },
    },
    indices: [
      { name: 'image_posts_latest', columns: ['createdAt', 'id'] },
      { name: 'image_posts_views', columns: ['viewCount', 'createdAt', 'id'] },
      { name: 'image_posts_author', columns: ['authorId', 'createdAt'] },
    ],
    foreignKeys: [
      {
        name: 'fk_image_posts_author',
        target: 'User',
        columnNames: ['authorId'],
        referencedColumnNames: ['id'],
        onDelete: 'CASCADE',
      },
    ],
  }),
  ...linkEntities(engine, imageKind),
];
