import type { Contract, OutputOf } from '../../contract/index.ts';
import { MAX_SUMMARY_IMAGES } from '../../contract/limits.ts';
import type { ContentRecord } from '../content/records.ts';
import { contentView } from '../content/view.ts';
import { imagesOf, type StoredImagePost, type StoredImagePostSummary } from './kind.ts';

type ImagePostSummary = OutputOf<Contract['image']['list']>['items'][number];
type ImagePost = OutputOf<Contract['image']['getById']>;

/** An image post as lists show it. Earlier versions, which may run beside this one, do not store the image count. */
export const imagePostSummaryView = (record: ContentRecord<StoredImagePostSummary>): ImagePostSummary => {
  const images = JSON.parse(record.row.images) as string[];
  const isCounted = images.length === MAX_SUMMARY_IMAGES && record.row.imageCount > 0;
  return Object.assign(contentView(record), {
    images: images.slice(0, MAX_SUMMARY_IMAGES),
    imageCount: isCounted ? record.row.imageCount : images.length,
  });
};

/** A whole image post. */
export const imagePostView = (record: ContentRecord<StoredImagePost>): ImagePost => {
  const images = imagesOf(record.row);
  return Object.assign(imagePostSummaryView(record), {
    images,
    imageCount: images.length,
    description: record.row.description,
  });
};
