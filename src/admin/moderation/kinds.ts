import type { ContentKind } from '../../content/kind.ts';
import { gameKind } from '../../game/kind.ts';
import { imageKind } from '../../image/kind.ts';

/** All that users publish. */
export const publishedKinds: readonly ContentKind[] = [gameKind, imageKind];

/** The name of a kind on the command line. */
export const commandOf = ({ router }: ContentKind): 'games' | 'images' => `${router}s`;
