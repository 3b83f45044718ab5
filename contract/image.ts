import { z } from 'zod';
import {
  Author,
  contentInput,
  contentMembers,
  Count,
  DELETES,
  HttpUrl,
  Id,
  listInput,
  page,
  ReactionType,
  Tag,
} from './common.ts';
import {
  exampleImagePost,
  exampleImagePostInput,
  exampleImagePostSummary,
  singlePage,
  untouchedViewer,
} from './examples.ts';
import { MAX_BATCH_RECORDS, MAX_IMAGES, MAX_SUMMARY_IMAGES } from './limits.ts';
import { procedure, router } from './procedure.ts';

const images = z.array(HttpUrl).min(1).max(MAX_IMAGES).describe(`URLs of the images, 1 to ${MAX_IMAGES}`);

const ImagePostInput = z
  .strictObject({
    title: contentInput.title,
    images,
    description: contentInput.description.optional(),
    tagNames: contentInput.tagNames.optional(),
  })
  .meta({ id: 'ImagePostInput', description: 'An image post to publish.' });

const summaryMembers = {
  id: z.string().describe('The id; treat it as opaque'),
  title: z.string().describe('The title'),
  images: z
    .array(z.string())
    .describe(`URLs of the first images, at most ${MAX_SUMMARY_IMAGES}; getById returns all of them`),
  imageCount: Count.describe('The number of images in the post'),
  tags: z.array(Tag).describe('Its tags'),
  author: Author.describe('The user who published it'),
  ...contentMembers,
};

export const ImagePostSummary = z
  .object(summaryMembers)
  .meta({ id: 'ImagePostSummary', description: 'An image post as it appears in lists.' });

const ImagePost = z
  .object({
    ...summaryMembers,
    images: z.array(z.string()).describe('URLs of all its images'),
    description: z.string().nullable().describe('A longer description'),
  })
  .meta({ id: 'ImagePost', description: 'An image post in full.' });

const ImageSort = z
  .enum(['latest', 'views'])
  .meta({ id: 'ImageSort', description: 'The sort order of image posts: newest or most viewed first.' });

const imagePostId = Id.describe('The id of the image post');

export const image = router('image', {
  list: procedure({
    summary: 'List image posts',
    description: `Lists, filters and searches image posts, by page or by cursor; each post shows its first ${MAX_SUMMARY_IMAGES} images. Filters combine with AND. A walk by cursor neither misses nor repeats a record that exists throughout. If you sort by views, records that are viewed during the walk may move.`,
    access: 'public',
    effect: 'read',
    input: listInput({
      sortBy: ImageSort.default('latest').describe('Newest or most viewed first'),
    }),
    output: page(ImagePostSummary),
    searchMember: 'search',
    laws: ['pages', 'viewer', 'filters', 'shortens'],
    errors: ['PAGE_TOO_DEEP', 'CURSOR_INVALID'],
    example: {
      input: { limit: 20, page: 1, tagSlugs: ['rain'], sortBy: 'latest' },
      output: singlePage(exampleImagePostSummary),
    },
  }),

  getById: procedure({
    summary: 'Read one image post',
    description: 'Reads an image post with its description and all its images, and counts one view.',
    access: 'public',
    effect: 'read',
    input: z.strictObject({ id: imagePostId }),
    output: ImagePost,
    laws: ['agrees', 'viewer', 'views'],
    errors: ['IMAGE_POST_NOT_FOUND'],
    example: { input: { id: exampleImagePost.id }, output: exampleImagePost },
  }),

  create: procedure({
    summary: 'Publish an image post',
    description: 'Publishes one image post as the user of the API key.',
    access: 'content:write',
    effect: 'write',
    input: ImagePostInput,
    output: ImagePost,
    laws: ['publishes'],
    errors: ['QUOTA_EXCEEDED', 'IDEMPOTENCY_GONE'],
    example: { input: exampleImagePostInput, output: { ...exampleImagePost, viewer: untouchedViewer } },
  }),

  batchCreate: procedure({
    summary: `Publish up to ${MAX_BATCH_RECORDS} image posts`,
    description:
      'Publishes all the posts, or none if any of them is invalid; the error then lists every fault of every item.',
    access: 'content:write',
    effect: 'write',
    input: z.strictObject({
      posts: z
        .array(ImagePostInput)
        .min(1)
        .max(MAX_BATCH_RECORDS)
        .describe(`The image posts, 1 to ${MAX_BATCH_RECORDS}`),
    }),
    output: z.object({
      items: z.array(ImagePost).meta({ description: 'The image posts, in the order of the input', 'x-order': 'input' }),
    }),
    laws: ['publishesAll'],
    errors: ['QUOTA_EXCEEDED', 'IDEMPOTENCY_GONE'],
    recordsMember: 'posts',
    example: {
      input: { posts: [exampleImagePostInput] },
      output: { items: [{ ...exampleImagePost, viewer: untouchedViewer }] },
    },
  }),

  update: procedure({
    summary: 'Change an image post',
    description:
      'Changes the members that you send. Only the author may do this. `images` and `tagNames` replace the old ones; a `description` of `null` clears it.',
    access: 'content:write',
    effect: 'write',
    input: z.strictObject({
      id: imagePostId,
      title: contentInput.title.optional(),
      description: contentInput.description.nullable().optional(),
      images: images.optional(),
      tagNames: contentInput.tagNames.optional(),
    }),
    output: ImagePost,
    laws: ['updates'],
    errors: ['IMAGE_POST_NOT_FOUND', 'NOT_OWNER', 'QUOTA_EXCEEDED'],
    example: {
      input: { id: exampleImagePost.id, title: '雨の路地裏、夜' },
      output: { ...exampleImagePost, title: '雨の路地裏、夜', viewer: untouchedViewer },
    },
  }),

  toggleReaction: procedure({
    summary: 'Like or dislike an image post',
    description:
      'Sets the caller’s reaction. Sending the same reaction again removes it; sending the other one switches to it. Returns the new state.',
    access: 'content:write',
    effect: 'write',
    input: z.strictObject({ imagePostId, type: ReactionType }),
    output: z.object({
      imagePostId: z.string().describe('The id of the image post'),
      reaction: ReactionType.nullable().describe("The caller's reaction now, or null"),
      likeCount: Count.describe('The number of likes'),
      dislikeCount: Count.describe('The number of dislikes'),
    }),
    laws: ['toggles'],
    errors: ['IMAGE_POST_NOT_FOUND'],
    example: {
      input: { imagePostId: exampleImagePost.id, type: 'like' },
      output: { imagePostId: exampleImagePost.id, reaction: 'like', likeCount: 1, dislikeCount: 0 },
    },
  }),

  toggleFavorite: procedure({
    summary: 'Add or remove a favorite',
    description:
      'Adds the post to the caller’s favorites, or removes it if it is there already. Returns the new state.',
    access: 'content:write',
    effect: 'write',
    input: z.strictObject({ imagePostId }),
    output: z.object({
      imagePostId: z.string().describe('The id of the image post'),
      favorited: z.boolean().describe('Whether it is a favorite now'),
      favoriteCount: Count.describe('The number of users who have it as a favorite'),
    }),
    laws: ['toggles'],
    errors: ['IMAGE_POST_NOT_FOUND'],
    example: {
      input: { imagePostId: exampleImagePost.id },
      output: { imagePostId: exampleImagePost.id, favorited: true, favoriteCount: 1 },
    },
  }),

  delete: procedure({
    summary: 'Delete an image post',
    description: DELETES,
    access: 'content:write',
    effect: 'write',
    input: z.strictObject({ id: imagePostId }),
    output: z.object({ id: z.string().describe('The id of the deleted image post') }),
    laws: ['deletes'],
    errors: ['IMAGE_POST_NOT_FOUND', 'NOT_OWNER'],
    example: { input: { id: exampleImagePost.id }, output: { id: exampleImagePost.id } },
  }),
});
