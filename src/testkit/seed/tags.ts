import { slugOf } from '../../content/tag/slug.ts';
import { compose, languages } from './language.ts';
import { Random } from './random.ts';

const TAGS = 5000;

/** The names of all seeded tags, the most frequent first. Every seed has the same: sites have one set of tags, too. */
export const tagNames = (): string[] => {
  const names = new Map<string, string>();
  const add = (name: string): void => {
    const slug = slugOf(name);
    if (!names.has(slug)) names.set(slug, name);
  };
  const usual = Math.max(...languages.map(({ tag }) => tag.length));
  for (let rank = 0; rank < usual; rank += 1) {
    for (const { tag } of languages) add(tag[rank] ?? tag[0] ?? '');
  }
  const random = new Random('tags');
  while (names.size < TAGS) add(compose(random.pick(languages), 'rareTag', random));
  return [...names.values()];
};
