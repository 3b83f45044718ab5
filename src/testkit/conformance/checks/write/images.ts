import { type Contract, MAX_SUMMARY_IMAGES, type OutputOf } from '../../../../../contract/index.ts';
import { type Check, checkOf } from '../../check.ts';
import { demand, OUTPUT } from '../../findings/expect.ts';
import { differences, Skip } from '../../findings/finding.ts';
import type { Operation } from '../../contract/operation.ts';
import { type VerifySession, TAG } from '../../session.ts';

type ImagePage = OutputOf<Contract['image']['list']>;

/** Checks of what a list shows of the images of posts. */
export const imageSummaryChecks = (list: Operation, session: VerifySession): Check[] => {
  const create = session.sibling(list, 'create');
  const run = async (): Promise<void> => {
    const images = Array.from({ length: MAX_SUMMARY_IMAGES + 1 }, (_, n) => `https://images.example.com/${n}.webp`);
    const { id } = await session.publish(list, { title: 'in short', images });
    const query = { limit: 1, page: 1, search: `${session.run} in short`, tagSlugs: [TAG] };
    const { output, reply } = await session.call<ImagePage>(list, query);
    const [post] = output.items;
    if (post?.id !== id) throw new Skip('the post is not found');
    const expected = { images: images.slice(0, MAX_SUMMARY_IMAGES), imageCount: images.length };
    demand(reply, differences(expected, { images: post.images, imageCount: post.imageCount }, `${OUTPUT}/items/0`));
  };
  const name = `shows the first ${MAX_SUMMARY_IMAGES} images of a post, and counts all`;
  return create ? [checkOf(list, 'effect', name, run, create.needs)] : [];
};
