import { inkOn, legible, mix } from './contrast.ts';

/** Neutral colors of the pages, for each scheme; badges and notes have `soft` grounds. */
const NEUTRAL = {
  light: {
    ground: '#ffffff',
    raised: '#f5f7fa',
    line: '#d7dde6',
    text: '#1a2029',
    muted: '#556072',
    good: '#17663a',
    'good-soft': '#e4f4ea',
    caution: '#7a4a00',
    'caution-soft': '#fdf0d5',
    bad: '#a3202c',
    'bad-soft': '#fde9ea',
  },
  dark: {
    ground: '#11151b',
    raised: '#1a1f28',
    line: '#343d4b',
    text: '#e4e8ef',
    muted: '#a3aebe',
    good: '#84d9a5',
    'good-soft': '#15291d',
    caution: '#f0c878',
    'caution-soft': '#2d2412',
    bad: '#ffa3a6',
    'bad-soft': '#361a1d',
  },
} as const;

/** The colors of a scheme by the names of their variables. */
export type Palette = Record<
  keyof (typeof NEUTRAL)['light'] | 'accent' | 'accent-soft' | 'brand' | 'brand-ink',
  string
>;

/**
 * The colors of a scheme. `brand` is the operator's color, unchanged, for surfaces, with `brand-ink` on it; `accent` is
 * the shade of it that is legible as text on every ground.
 */
export const paletteOf = (brand: string, scheme: 'light' | 'dark'): Palette => {
  const neutral = NEUTRAL[scheme];
  const { ground, raised } = neutral;
  const soft = mix(brand, scheme === 'light' ? 0.1 : 0.18, ground);
  const accent = legible(brand, [ground, raised, soft], scheme === 'light' ? '#000000' : '#ffffff');
  return { ...neutral, accent, 'accent-soft': soft, brand, 'brand-ink': inkOn(brand) };
};

const variables = (palette: Palette): string =>
  Object.entries(palette)
    .map(([name, color]) => `--${name}: ${color};`)
    .join(' ');

/** The style sheet that defines all colors of the pages, by the scheme that the reader prefers. */
export const paletteCss = (
  brand: string,
): string => `:root { color-scheme: light dark; ${variables(paletteOf(brand, 'light'))} }
@media (prefers-color-scheme: dark) { :root { ${variables(paletteOf(brand, 'dark'))} } }
`;
