import { EntitySchema } from 'typeorm';
import { columnTypes } from '../../db/sql/columns.ts';
import type { Engine } from '../../db/dialect.ts';
import { repositoryOf } from '../../db/manager.ts';

export interface TagRow {
  id: number;
  slug: string;
  name: string;
  gameCount: number;
  imagePostCount: number;
  /** The tag that took its place: records get that one instead, and it has none itself. */
  mergedInto: number | null;
}

export const tagsIn = repositoryOf<TagRow>('Tag');

/**
 * The slug of a tag that records have never changes, so processes may remember it; the name may get another spelling. An
 * upgrade that makes other slugs makes other tags: see `tag-slugs.ts`.
 */
export const tagEntity = (engine: Engine): EntitySchema<TagRow> => {
  const { serial, text, count } = columnTypes(engine);
  return new EntitySchema<TagRow>({
    name: 'Tag',
    tableName: 'tags',
    columns: {
      id: { ...serial, primary: true, generated: 'increment' },
      slug: text(200),
      name: text(50),
      gameCount: { ...count, name: 'game_count', default: 0 },
      imagePostCount: { ...count, name: 'image_post_count', default: 0 },
      mergedInto: { ...serial, name: 'merged_into', nullable: true },
    },
    indices: [{ name: 'tags_slug', columns: ['slug'], unique: true }],
  });
};
