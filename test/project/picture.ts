import { floors, purposes } from './floors.ts';
import { type Arrow, roomOf } from './imports.ts';

const WIDTH = 960;
const FLOOR_HEIGHT = 84;
const BOX_HEIGHT = 50;
const BOX_WIDTH = 268;
const GAP = 34;

interface Box {
  room: string;
  x: number;
  y: number;
}

const boxes: readonly Box[] = floors.flatMap((rooms, floor) => {
  const width = rooms.length * BOX_WIDTH + (rooms.length - 1) * GAP;
  return rooms.map((room, index) => ({
    room,
    x: (WIDTH - width) / 2 + index * (BOX_WIDTH + GAP),
    y: 12 + floor * FLOOR_HEIGHT,
  }));
});

const nameOf = (room: string): string => (room.endsWith('.ts') ? room : `${room}/`);

/** The rooms that each room imports. */
const targetsOf = (arrows: readonly Arrow[]): ReadonlyMap<string, ReadonlySet<string>> => {
  const targets = new Map<string, Set<string>>();
  for (const { importer, imported, isOurs } of arrows) {
    const [from, to] = isOurs ? [roomOf(importer, 'src'), roomOf(imported, 'src')] : [];
    if (from === undefined || to === undefined || from === to) continue;
    const name = from.slice('src/'.length);
    targets.set(name, (targets.get(name) ?? new Set()).add(to.slice('src/'.length)));
  }
  return targets;
};

/** Every room below a room, at any distance. */
const below = (room: string, targets: ReadonlyMap<string, ReadonlySet<string>>): Set<string> => {
  const found = new Set<string>();
  const visit = (one: string): void => {
    for (const target of targets.get(one) ?? []) {
      if (found.has(target)) continue;
      found.add(target);
      visit(target);
    }
  };
  visit(room);
  return found;
};

/** The imports that no other way leads along: a line for each would hide the house. */
const shortest = (targets: ReadonlyMap<string, ReadonlySet<string>>): [from: string, to: string][] =>
  [...targets].flatMap(([from, direct]) =>
    [...direct]
      .filter((to) => ![...direct].some((other) => other !== to && below(other, targets).has(to)))
      .map((to): [string, string] => [from, to]),
  );

const line = (from: string, to: string): string => {
  const [above, under] = [from, to].map((room) => boxes.find((box) => box.room === room)) as [Box, Box];
  const [x1, y1] = [above.x + BOX_WIDTH / 2, above.y + BOX_HEIGHT];
  const [x2, y2] = [under.x + BOX_WIDTH / 2, under.y];
  const bend = (y2 - y1) / 2;
  return `<path d="M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}" class="arrow" marker-end="url(#head)"/>`;
};

const box = ({ room, x, y }: Box): string =>
  [
    `<rect x="${x}" y="${y}" width="${BOX_WIDTH}" height="${BOX_HEIGHT}" rx="6"/>`,
    `<text x="${x + BOX_WIDTH / 2}" y="${y + 21}" class="name">${nameOf(room)}</text>`,
    `<text x="${x + BOX_WIDTH / 2}" y="${y + 39}">${purposes[room]}</text>`,
  ].join('\n');

/** The rooms of `src/` as an SVG, floor by floor, with the imports between them that no longer way replaces. */
export const drawingOf = (arrows: readonly Arrow[]): string => {
  const height = 12 + floors.length * FLOOR_HEIGHT;
  const lines = shortest(targetsOf(arrows))
    .map(([from, to]) => line(from, to))
    .toSorted();
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12.5" text-anchor="middle" role="img">
<title>The rooms of src/: each imports from floors below its own only</title>
<style>
rect { fill: #f4f6fb; stroke: #2457d6 }
text { fill: #414858 }
.name { font-size: 14px; font-weight: 600; fill: #10182b }
.arrow { fill: none; stroke: #7d8799; stroke-width: 1.2 }
.page { fill: #fff; stroke: none }
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#7d8799"/></marker></defs>
<rect class="page" width="${WIDTH}" height="${height}"/>
${lines.join('\n')}
${boxes.map(box).join('\n')}
</svg>
`;
};
