const WIDTH = 900;
const HEIGHT = 420;
const LEFT = 70;
const RIGHT = 20;
const TOP = 50;
const BOTTOM = 60;

/** A step of 1, 2 or 5 times a power of ten that divides a range into at most so many parts. */
const niceStep = (range, parts) => {
  const power = 10 ** Math.floor(Math.log10(range / parts));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => range / step <= parts);
};

const ticks = (end, parts) => {
  const step = niceStep(end, parts);
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, index) => Number((index * step).toFixed(6)));
};

/** An SVG picture of a value in MiB, second by second, its axes from 0. */
export const drawCurve = (values, title) => {
  const minutes = (values.length - 1) / 60;
  const top = Math.max(...values) * 1.1;
  const x = (minute) => LEFT + (minute / minutes) * (WIDTH - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM);
  const at = (number) => number.toFixed(1);
  const points = values.map((value, second) => `${at(x(second / 60))},${at(y(value))}`).join(' ');
  const [right, bottom] = [WIDTH - RIGHT, HEIGHT - BOTTOM];
  const acrossTicks = ticks(minutes, 10).map(
    (minute) => `<line x1="${at(x(minute))}" y1="${bottom}" x2="${at(x(minute))}" y2="${bottom + 5}" stroke="#555"/>
<text x="${at(x(minute))}" y="${bottom + 20}" text-anchor="middle">${minute}</text>`,
  );
  const upTicks = ticks(top, 8).map(
    (value) => `<line x1="${LEFT}" y1="${at(y(value))}" x2="${right}" y2="${at(y(value))}" stroke="#ddd"/>
<text x="${LEFT - 8}" y="${at(y(value) + 4)}" text-anchor="end">${value}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
<text x="${WIDTH / 2}" y="28" text-anchor="middle" font-size="16">${title}</text>
${upTicks.join('\n')}
${acrossTicks.join('\n')}
<line x1="${LEFT}" y1="${bottom}" x2="${right}" y2="${bottom}" stroke="#555"/>
<line x1="${LEFT}" y1="${TOP}" x2="${LEFT}" y2="${bottom}" stroke="#555"/>
<text x="${(LEFT + right) / 2}" y="${HEIGHT - 14}" text-anchor="middle">time, minutes</text>
<text x="18" y="${(TOP + bottom) / 2}" text-anchor="middle" transform="rotate(-90 18 ${(TOP + bottom) / 2})">resident memory, MiB</text>
<polyline points="${points}" fill="none" stroke="#0b62a3" stroke-width="1.5"/>
</svg>
`;
};
