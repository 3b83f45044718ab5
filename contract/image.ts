import { z } from 'zod';
import {
  Author,
  contentInput,
  contentMembers,
  Count,
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
  id: z.string().describe('The id, opaque'),
  title: z.string().describe('The title'),
  images: z.array(z.string()).describe(`URLs of the first images, at most ${MAX_SUMMARY_IMAGES}; getById answers all`),
  imageCount: Count.describe('The number of all its images'),
  tags: z.array(Tag).describe('Its tags'),
  author: Author.describe('Who published it'),
  ...contentMembers,
};

const ImagePostSummary = z
  .object(summaryMembers)
  .meta({ id: 'ImagePostSummary', description: 'An image post as lists show it.' });

const ImagePost = z
  .object({
    ...summaryMembers,
    images: z.array(z.string()).describe('URLs of all its images'),
    description: z.string().nullable().describe('A longer text about it'),
  })
  .meta({ id: 'ImagePost', description: 'An image post with all that is known of it.' });

const ImageSort = z
  .enum(['latest', 'views'])
  .meta({ id: 'ImageSort', description: 'The order of image posts: newest first, or most viewed first.' });

const imagePostId = Id.describe('The id of the image post');

export const image = router('image', {
  list: procedure({
    summary: 'List image posts',
    description: `Lists, filters and searches image posts, page by page or by cursor; each shows its first ${MAX_SUMMARY_IMAGES} images. Filters combine with AND. In a walk by cursor no record that was there throughout is missed or seen twice; sorted by views, records that are viewed meanwhile may move.`,
    access: 'public',
    effect: 'read',
    input: z.strictObject({
      ...listInput,
      sortBy: ImageSort.default('latest').describe('Newest first, or most viewed first'),
    }),
    output: page(ImagePostSummary),
    searchMember: 'search',
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
    errors: ['IMAGE_POST_NOT_FOUND'],
    example: { input: { id: exampleImagePost.id }, output: exampleImagePost },
  }),

  create: procedure({
    summary: 'Publish an image post',
    description: 'Publishes one image post in the name of the key’s user.',
    access: 'content:write',
    effect: 'write',
    input: ImagePostInput,
    output: ImagePost,
    errors: [],
    example: { input: exampleImagePostInput, output: { ...exampleImagePost, viewer: untouchedViewer } },
  }),

  batchCreate: procedure({
    summary: `Publish up to ${MAX_BATCH_RECORDS} image posts`,
    description: 'Publishes all posts or, if any is faulty, none; the reply then lists every fault of every item.',
    access: 'content:write',
    effect: 'write',
    input: z.strictObject({
      posts: z
        .array(ImagePostInput)
        .min(1)
        .max(MAX_BATCH_RECORDS)
        .describe(`The image posts, 1 to ${MAX_BATCH_RECORDS}`),
    }),
    output: z.object({ items: z.array(ImagePost).describe('The image posts, in the order of the input') }),
    errors: [],
    recordsMember: 'posts',
    example: {
      input: { posts: [exampleImagePostInput] },
      output: { items: [{ ...exampleImagePost, viewer: untouchedViewer }] },
    },
  }),

  update: procedure({
    summary: 'Change an image post',
    description:
      'Changes the members that are given; only the author may. `images` and `tagNames` replace what was there, a `description` of null clears it.',
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
    errors: ['IMAGE_POST_NOT_FOUND', 'NOT_OWNER'],
    example: {
      input: { id: exampleImagePost.id, title: '雨の路地裏、夜' },
      output: { ...exampleImagePost, title: '雨の路地裏、夜', viewer: untouchedViewer },
    },
  }),

  toggleReaction: procedure({
    summary: 'Like or dislike an image post',
    description:
      'Sets the caller’s reaction. The same reaction again removes it, the other one switches it. Returns the new state.',
    access: 'content:write',
    effect: 'write',
    input: z.strictObject({ imagePostId, type: ReactionType }),
    output: z.object({
      imagePostId: z.string().describe('The id of the image post'),
      reaction: ReactionType.nullable().describe("The caller's reaction now, or null"),
      likeCount: Count.describe('The number of likes'),
      dislikeCount: Count.describe('The number of dislikes'),
    }),
    errors: ['IMAGE_POST_NOT_FOUND'],
    example: {
      input: { imagePostId: exampleImagePost.id, type: 'like' },
      output: { imagePostId: exampleImagePost.id, reaction: 'like', likeCount: 1, dislikeCount: 0 },
    },
  }),

  toggleFavorite: procedure({
    summary: 'Add or remove a favorite',
    description: 'Makes the post a favorite of the caller or, if it is one, takes that back. Returns the new state.',
    access: 'content:write',
    effect: 'write',
    input: z.strictObject({ imagePostId }),
    output: z.object({
      imagePostId: z.string().describe('The id of the image post'),
      favorited: z.boolean().describe('Whether it is a favorite now'),
      favoriteCount: Count.describe('The number of users who hold it as a favorite'),
    }),
    errors: ['IMAGE_POST_NOT_FOUND'],
    example: {
      input: { imagePostId: exampleImagePost.id },
      output: { imagePostId: exampleImagePost.id, favorited: true, favoriteCount: 1 },
    },
  }),
});
