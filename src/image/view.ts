import type { Contract, OutputOf } from '../../contract/index.ts';
import type { ContentRecord } from '../content/records.ts';
import { contentView } from '../content/view.ts';
import type { ImagePostColumns, ImagePostSummaryColumns } from './entity.ts';

type ImagePostSummary = OutputOf<Contract['image']['list']>['items'][number];
type ImagePost = OutputOf<Contract['image']['getById']>;

/** An image post as lists show it. */
export const imagePostSummaryView = (record: ContentRecord<ImagePostSummaryColumns>): ImagePostSummary =>
  Object.assign(contentView(record), {
    images: JSON.parse(record.row.images) as string[],
    imageCount: record.row.image_count,
  });

/** A whole image post. */
export const imagePostView = (record: ContentRecord<ImagePostColumns>): ImagePost => {
  const { more_images, description } = record.row;
  const post = Object.assign(imagePostSummaryView(record), { description });
  if (more_images !== null) post.images.push(...(JSON.parse(more_images) as string[]));
  return post;
};
