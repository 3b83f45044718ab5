import type { ContentKind } from '../../content/kind.ts';
import type { RemovableKind } from '../../content/write/remove.ts';
import { gameKind } from '../../game/kind.ts';
import { typeCounter } from '../../game/service.ts';
import { imageKind } from '../../image/kind.ts';

export const removableGames: RemovableKind = { kind: gameKind, countersOf: (type) => [typeCounter(type)] };
export const removableImages: RemovableKind = { kind: imageKind, countersOf: () => [] };

/** All that users publish. */
export const removableKinds: readonly RemovableKind[] = [removableGames, removableImages];

/** The name of a kind on the command line. */
export const commandOf = ({ table }: ContentKind): 'games' | 'images' =>
  table === gameKind.table ? 'games' : 'images';
