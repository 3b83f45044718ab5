import type { Brand } from '../../config/config.ts';
import type { Logo } from '../../config/brand-logo.ts';
import { inkOn } from './contrast.ts';

/** A gate, in the operator's color. */
const mark = (color: string): string => {
  const ink = inkOn(color);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" width="32" height="32">
<rect width="32" height="32" rx="8" fill="${color}"/>
<path d="M8.5 24.5V15a7.5 7.5 0 0 1 15 0v9.5" fill="none" stroke="${ink}" stroke-width="3" stroke-linecap="round"/>
<circle cx="16" cy="18" r="2.75" fill="${ink}"/>
</svg>
`;
};

/** The logo of the service: the operator's or, without one, a mark in the operator's color. */
export const logoOf = ({ logo, color }: Brand): Logo => logo ?? { type: 'svg', bytes: Buffer.from(mark(color)) };

const TYPES = { svg: 'image/svg+xml', png: 'image/png' };

/** Its media type. */
export const logoType = (brand: Brand): string => TYPES[logoOf(brand).type];

/** The name of its file. */
export const logoName = (brand: Brand): string => `logo.${logoOf(brand).type}`;
