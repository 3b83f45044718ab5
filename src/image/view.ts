import type { Contract, OutputOf } from '../../contract/index.ts';
import type { ContentRecord } from '../content/records.ts';
import { contentView } from '../content/view.ts';
import type { ImagePostColumns, ImagePostSummaryColumns } from './entity.ts';

type ImagePostSummary = OutputOf<Contract['image']['list']>['items'][number];
type ImagePost = OutputOf<Contract['image']['getById']>;

/** An image post as lists show it. */
export const imagePostSummaryView = (record: ContentRecord<ImagePostSummaryColumns>): ImagePostSummary =>
  Object.assign(contentView(record), { images: JSON.parse(record.row.images) as string[] });

/** A whole image post. */
export const imagePostView = (record: ContentRecord<ImagePostColumns>): ImagePost =>
  Object.assign(imagePostSummaryView(record), { description: record.row.description });
