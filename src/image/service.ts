import type { Contract, InputOf, OutputOf } from '../../contract/index.ts';
import type { Draft } from '../content/write/publish.ts';
import { type ContentContext, updateRecord } from '../content/service.ts';
import type { Caller } from '../auth/verifier.ts';
import type { Call } from '../auth/procedure.ts';
import { imageMembers, type ImagePostRow, type StoredImagePost, type StoredImagePostSummary } from './kind.ts';
import { imagePostView } from './view.ts';

/** The dependencies of the router `image`. */
export type ImageContext = ContentContext<StoredImagePostSummary, StoredImagePost>;

type ImagePostInput = InputOf<Contract['image']['create']>;
type UpdateInput = InputOf<Contract['image']['update']>;

export const imagePostDraft = ({ title, images, description, tagNames }: ImagePostInput): Draft<StoredImagePost> => ({
  title,
  tagNames: tagNames ?? [],
  searchable: [],
  own: Object.assign(imageMembers(images), { description: description ?? null }),
});

/** Changes the given members of an image post. @throws AppError IMAGE_POST_NOT_FOUND, NOT_OWNER, QUOTA_EXCEEDED */
export const updateImagePost = (
  c: ImageContext,
  { id, tagNames, images, ...members }: UpdateInput,
  call: Call<Caller>,
): Promise<OutputOf<Contract['image']['update']>> =>
  updateRecord<ImagePostRow, StoredImagePost, OutputOf<Contract['image']['update']>>(
    c,
    { id, tagNames, columnsOf: () => ({ ...members, ...(images && imageMembers(images)) }) },
    call,
    imagePostView,
  );
