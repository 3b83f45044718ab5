/** Colors as `#rrggbb`, and their contrast: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio */

type Channels = [red: number, green: number, blue: number];

/** The least contrast of text for WCAG AA. */
export const TEXT_CONTRAST = 4.5;

const channelsOf = (color: string): Channels => {
  const number = Number.parseInt(color.slice(1), 16);
  return [(number >> 16) & 255, (number >> 8) & 255, number & 255];
};

const colorOf = (channels: Channels): string =>
  `#${channels.map((channel) => Math.round(channel).toString(16).padStart(2, '0')).join('')}`;

const linear = (channel: number): number => {
  const share = channel / 255;
  return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
};

const luminance = (color: string): number => {
  const [red, green, blue] = channelsOf(color).map(linear) as Channels;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};

/** From 1 (equal colors) to 21 (black on white). */
export const contrast = (one: string, other: string): number => {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
};

/** `share` of one color, from 0 to 1, and the rest of another. */
export const mix = (one: string, share: number, other: string): string => {
  const rest = channelsOf(other);
  return colorOf(channelsOf(one).map((channel, i) => channel * share + (rest[i] as number) * (1 - share)) as Channels);
};

/** Black or white, the one with the better contrast on a color: it is always 4.58 or more. */
export const inkOn = (color: string): string =>
  contrast('#000000', color) > contrast('#ffffff', color) ? '#000000' : '#ffffff';

/** The shade nearest to a color, towards black or white, that is legible as text on all of these grounds. */
export const legible = (color: string, grounds: readonly string[], end: '#000000' | '#ffffff'): string => {
  for (let percent = 100; percent > 0; percent -= 1) {
    const shade = mix(color, percent / 100, end);
    if (grounds.every((ground) => contrast(shade, ground) >= TEXT_CONTRAST)) return shade;
  }
  return end;
};
