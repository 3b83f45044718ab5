import { MAX_SUMMARY_IMAGES } from '../../contract/limits.ts';
import type { ImagePostColumns } from './entity.ts';

/** The columns that hold the images of a post. */
export const imageColumns = (images: readonly string[]) => ({
  images: JSON.stringify(images.slice(0, MAX_SUMMARY_IMAGES)),
  image_count: images.length,
  more_images: images.length > MAX_SUMMARY_IMAGES ? JSON.stringify(images.slice(MAX_SUMMARY_IMAGES)) : null,
});

/**
 * All images of a post. Versions from before the other columns were there, which may run beside this one, put all of them
 * into `images`: if these are not as many as lists show, they are all.
 */
export const imagesOf = ({ images, more_images: more }: Pick<ImagePostColumns, 'images' | 'more_images'>): string[] => {
  const first = JSON.parse(images) as string[];
  return first.length === MAX_SUMMARY_IMAGES && more !== null ? first.concat(JSON.parse(more) as string[]) : first;
};
