/**
 * @engines none
 * @tier fast
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { afterAll, describe, expect, test } from '@jest/globals';
import { readConfig } from '../../src/config/config.ts';
import { contrast, inkOn, legible, TEXT_CONTRAST } from '../../src/site/brand/contrast.ts';
import { logoOf, logoName } from '../../src/site/brand/logo.ts';
import { type Palette, paletteCss, paletteOf } from '../../src/site/brand/palette.ts';

// The operator's color, logo, name and links: what is taken, and that any color leaves the pages readable.

const COLORS = [
  '#2457d6',
  '#000000',
  '#ffffff',
  '#ffff00',
  '#fff7c2',
  '#808080',
  '#767676',
  '#ff0000',
  '#00ff88',
  '#0b0b2a',
];
const GROUNDS = ['ground', 'raised'] as const;

/** Which text stands on which ground. */
const PAIRS: [text: keyof Palette, ground: keyof Palette][] = [
  ...GROUNDS.flatMap((ground) =>
    (['text', 'muted', 'accent'] as const).map((text) => [text, ground] as [typeof text, typeof ground]),
  ),
  ['accent', 'accent-soft'],
  ['good', 'good-soft'],
  ['caution', 'caution-soft'],
  ['bad', 'bad-soft'],
  ['brand-ink', 'brand'],
];

describe('brand', () => {
  describe('contrast', () => {
    test.each([
      ['#000000', '#ffffff', 21],
      ['#ffffff', '#ffffff', 1],
      ['#767676', '#ffffff', 4.54],
      ['#777777', '#ffffff', 4.48],
      ['#0000ff', '#ffffff', 8.59],
      ['#ff0000', '#ffffff', 4],
    ])('of %s and %s is %d', (one, other, ratio) => {
      expect(contrast(one, other)).toBeCloseTo(ratio, 2);
      expect(contrast(other, one)).toBe(contrast(one, other));
    });

    test('a color that reads well stays as it is', () => {
      expect(legible('#2457d6', ['#ffffff'], '#000000')).toBe('#2457d6');
    });
  });

  describe.each(['light', 'dark'] as const)('the %s scheme', (scheme) => {
    test.each(COLORS)('is readable with the brand color %s', (color) => {
      const palette = paletteOf(color, scheme);
      const faint = PAIRS.map(([text, ground]) => ({ text, ground, ratio: contrast(palette[text], palette[ground]) }));
      expect(faint.filter(({ ratio }) => ratio < TEXT_CONTRAST)).toEqual([]);
      expect(palette.brand).toBe(color);
    });
  });

  test('some ink reads on every color', () => {
    for (let grey = 0; grey < 256; grey += 1) {
      const color = `#${grey.toString(16).padStart(2, '0').repeat(3)}`;
      expect(contrast(inkOn(color), color)).toBeGreaterThanOrEqual(TEXT_CONTRAST);
    }
  });

  test('the style sheet defines both schemes with the same names', () => {
    const [light = '', dark = ''] = paletteCss('#2457d6').split('@media (prefers-color-scheme: dark)');
    const names = (css: string): string[] => [...css.matchAll(/(--[\w-]+):/g)].map(([, name = '']) => name);
    expect(names(light)).toContain('--accent-soft');
    expect(names(dark)).toEqual(names(light));
  });

  describe('BRAND_… and what else makes the pages the operator’s', () => {
    const folder = mkdtempSync(join(tmpdir(), 'brand-'));
    afterAll(() => rmSync(folder, { recursive: true }));

    const file = (name: string, content: string | Buffer): string => {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    };
    const PNG = Buffer.from('\x89PNG\r\n\x1A\n0000IHDR', 'latin1');
    const SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>';

    test('are neutral unless set', () => {
      const { brand } = readConfig({});
      expect(brand).toEqual({
        name: 'Content Gateway',
        color: '#2457d6',
        logo: undefined,
        contact: undefined,
        terms: undefined,
        source: undefined,
      });
      expect(logoName(brand)).toBe('logo.svg');
      expect(String(logoOf(brand).bytes)).toContain('fill="#2457d6"');
    });

    test.each([
      ['a.svg', SVG, 'svg'],
      [
        'b.SVG',
        `\uFEFF<?xml version="1.0"?>\n<!-- made - by hand -->\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x">\n${SVG}`,
        'svg',
      ],
      ['c.png', PNG, 'png'],
    ])('BRAND_LOGO takes %s', (name, content, type) => {
      const { brand } = readConfig({ BRAND_LOGO: file(name, content) });
      expect(logoOf(brand)).toEqual({ type, bytes: Buffer.from(content) });
      expect(logoName(brand)).toBe(`logo.${type}`);
    });

    test.each([
      ['BRAND_LOGO', () => file('a.gif', 'GIF89a'), 'must be the path of an .svg or .png file'],
      ['BRAND_LOGO', () => join(folder, 'absent.svg'), 'must be the path of a file that is there'],
      ['BRAND_LOGO', () => file('html.svg', '<html><svg></svg></html>'), 'holds no SVG picture in UTF-8'],
      [
        'BRAND_LOGO',
        () => file('latin.svg', Buffer.from(`<!-- \xE9 -->${SVG}`, 'latin1')),
        'holds no SVG picture in UTF-8',
      ],
      ['BRAND_LOGO', () => file('empty.svg', ''), 'holds no SVG picture in UTF-8'],
      ['BRAND_LOGO', () => file('svg.png', SVG), 'holds no PNG picture'],
      [
        'BRAND_LOGO',
        () => file('large.png', Buffer.concat([PNG, Buffer.alloc(256 * 1024)])),
        'must have at most 256 KiB',
      ],
      ['BRAND_COLOR', () => 'blue', 'must be a color such as #2457d6'],
      ['BRAND_COLOR', () => '#25d', 'must be a color such as #2457d6'],
      ['BRAND_NAME', () => ' ', 'must not be blank'],
      ['BRAND_NAME', () => 'x'.repeat(61), 'must have at most 60 characters'],
      ['BRAND_NAME', () => 'two\nlines', 'must be one line without control characters'],
      ['BRAND_CONTACT', () => 'help@example.com', 'must be mailto:name@example.com or an http or https URL'],
      ['BRAND_CONTACT', () => 'mailto:', 'must be mailto:name@example.com or an http or https URL'],
      ['BRAND_CONTACT', () => 'javascript:alert(1)', 'must be mailto:name@example.com or an http or https URL'],
      ['BRAND_TERMS', () => 'mailto:help@example.com', 'must be an http or https URL'],
      ['BRAND_TERMS', () => 'https:terms', 'must be an http or https URL'],
      ['SOURCE_URL', () => 'git@example.com:source.git', 'must be an http or https URL'],
      ['SDKS_DIR', () => join(folder, 'absent'), 'must be off or the path of a folder that is there'],
      ['SDKS_DIR', () => file('a.txt', ''), 'must be off or the path of a folder that is there'],
      ['SDK_PACKAGES', () => 'npm=https://registry.example.com', 'must be a list such as typescript=https://'],
      ['SDK_PACKAGES', () => 'go', 'must be a list such as typescript=https://'],
      ['SDK_PACKAGES', () => 'go=https://proxy.example.com/$(id)', 'must be a list such as typescript=https://'],
    ])('%s is refused with its reason, case %#', (name, valueOf, reason) => {
      const value = valueOf();
      expect(() => readConfig({ [name]: value })).toThrow(`${name} "${value}" ${reason}`);
    });

    test('a logo that is a folder is refused', () => {
      const path = join(folder, 'folder.svg');
      mkdirSync(path);
      expect(() => readConfig({ BRAND_LOGO: path })).toThrow('must be the path of a file');
    });
  });
});
