import type { ContentKind } from '../../content/kind.ts';
import { gameKind } from '../../game/kind.ts';
import { imageKind } from '../../image/kind.ts';

/** All that users publish. */
export const publishedKinds: readonly [ContentKind, ...ContentKind[]] = [gameKind, imageKind];
