const WIDTH = 460;
const HEIGHT = 300;
const LEFT = 64;
const RIGHT = 16;
const TOP = 44;
const BOTTOM = 48;
/** Of the versions, in their order. */
const COLORS = ['#0b62a3', '#b3402a', '#3a7d34', '#7a4fa3'];

const powersOfTen = (least, most) => {
  const [from, to] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))];
  return Array.from({ length: to - from + 1 }, (_, index) => 10 ** (from + index));
};

/** One chart, both axes logarithmic; what is 0 is drawn at the bottom. `curves` are `{color, points: [[x, y], …]}`. */
const chart = ({ title, unit, curves, xs, left, top }) => {
  const values = curves.flatMap(({ points }) => points.map(([, y]) => y)).filter((y) => y > 0);
  const ticks = values.length === 0 ? [1, 10] : powersOfTen(Math.min(...values), Math.max(...values));
  const [low, high] = [Math.log10(ticks[0]), Math.log10(ticks.at(-1)) || 1];
  const [x0, x1] = [Math.log10(xs[0]), Math.log10(xs.at(-1))];
  const at = (number) => number.toFixed(1);
  const x = (value) => at(left + LEFT + ((Math.log10(value) - x0) / (x1 - x0 || 1)) * (WIDTH - LEFT - RIGHT));
  const y = (value) =>
    at(
      top +
        HEIGHT -
        BOTTOM -
        ((Math.log10(Math.max(value, ticks[0])) - low) / (high - low || 1)) * (HEIGHT - TOP - BOTTOM),
    );
  const [right, bottom] = [left + WIDTH - RIGHT, top + HEIGHT - BOTTOM];
  return [
    `<text x="${left + WIDTH / 2}" y="${top + 24}" text-anchor="middle" font-size="13">${title}</text>`,
    ...ticks.map(
      (tick) => `<line x1="${left + LEFT}" y1="${y(tick)}" x2="${right}" y2="${y(tick)}" stroke="#ddd"/>
<text x="${left + LEFT - 6}" y="${y(tick)}" dy="4" text-anchor="end">${tick}</text>`,
    ),
    ...xs.map(
      (value) => `<text x="${x(value)}" y="${bottom + 16}" text-anchor="middle">${value.toLocaleString('en')}</text>`,
    ),
    `<text x="${left + WIDTH / 2}" y="${bottom + 34}" text-anchor="middle">callers</text>`,
    `<text x="${left + 14}" y="${top + HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 ${left + 14} ${top + HEIGHT / 2})">${unit}</text>`,
    `<path d="M${left + LEFT} ${top + TOP}V${bottom}H${right}" fill="none" stroke="#555"/>`,
    ...curves.map(({ color, points }) => {
      const path = points.map(([px, py]) => `${x(px)},${y(py)}`).join(' ');
      const dots = points.map(([px, py]) => `<circle cx="${x(px)}" cy="${y(py)}" r="3" fill="${color}"/>`);
      return `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="1.5"/>${dots.join('')}`;
    }),
  ].join('\n');
};

const MEASURES = [
  { name: 'answered', unit: 'per second', of: ({ perSecond }) => perSecond },
  { name: 'refused', unit: 'per second', of: ({ refusedPerSecond }) => refusedPerSecond },
  { name: 'p99 of the answered', unit: 'ms', of: ({ p99 }) => p99 },
];

/**
 * An SVG picture of crowds: for each operation a row of charts, each with a curve for each version. `levels` are those of
 * `crowd.mjs`.
 */
export const drawCrowds = (levels, heading) => {
  const names = [...new Set(levels.map(({ name }) => name))];
  const versions = [...new Set(levels.map(({ version }) => version))];
  const colorOf = (version) => COLORS[versions.indexOf(version) % COLORS.length];
  const charts = names.flatMap((name, row) =>
    MEASURES.map((measure, column) => {
      const own = levels.filter((level) => level.name === name);
      return chart({
        title: `${name}: ${measure.name}`,
        unit: measure.unit,
        xs: [...new Set(own.map(({ connections }) => connections))],
        curves: versions.map((version) => ({
          color: colorOf(version),
          points: own
            .filter((level) => level.version === version && measure.of(level) !== undefined)
            .map((level) => [level.connections, measure.of(level)]),
        })),
        left: column * WIDTH,
        top: 40 + row * HEIGHT,
      });
    }),
  );
  const [width, height] = [WIDTH * MEASURES.length, 40 + HEIGHT * names.length];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="16" y="26" font-size="16">${heading}</text>
${versions
  .map(
    (version, index) =>
      `<text x="${width - 16}" y="${16 + index * 14}" font-size="13" text-anchor="end" fill="${colorOf(version)}">${version}</text>`,
  )
  .join('\n')}
${charts.join('\n')}
</svg>
`;
};
