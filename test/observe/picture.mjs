import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';
import { findChromium } from '../harness/jest/available.mjs';
import { draw } from './page.mjs';
import { indexedPng } from './png.mjs';
import { formatted } from './units.mjs';

const WIDTH = 1440;
const COLUMNS = 24;
const ROW_HEIGHT = 27;
const GAP = 6;
/** Grafana's classic palette. */
const COLOURS =
  '#7eb26d #eab839 #6ed0e0 #ef843c #e24d42 #1f78c1 #ba43a9 #705da0 #508642 #cca300' +
  ' #447ebc #c15c17 #890f02 #0a437c #6d1f62 #584477 #64b0c8 #f29191 #99440a #3f6833';
const NAMED = { green: '#3f9142', red: '#d0342c' };

const require = createRequire(import.meta.url);
const uplot = (file) => readFileSync(require.resolve(`uplot/dist/${file}`), 'utf8');

const STYLE = `
* { box-sizing: border-box; }
body { margin: 0; width: ${WIDTH}px; background: #f4f5f5; color: #24292e; font: 12px/1.3 sans-serif; }
header { padding: 10px 14px 4px; font-size: 18px; }
main { position: relative; }
section, h2 { position: absolute; margin: 0; }
section { background: #fff; border: 1px solid #dfe1e4; padding: 5px 8px; overflow: hidden; display: flex; flex-direction: column; }
h2 { font-size: 14px; padding: 4px 8px; }
h3 { margin: 0 0 2px; font-size: 12px; }
.chart { flex: 1; min-height: 0; }
.legend { max-height: 46px; overflow: hidden; font-size: 11px; color: #555; }
.legend span { margin-right: 9px; white-space: nowrap; display: inline-block; }
.legend i { display: inline-block; width: 11px; height: 3px; margin-right: 4px; vertical-align: middle; }
.stat { flex: 1; display: flex; align-items: center; justify-content: center; font-size: 27px; font-weight: 600; text-align: center; }
.stat.name { font-size: 16px; }
.line { height: 30px; }
`;

/** The colour of a value by the steps of its panel. */
const colourOf = ({ thresholds }, value) =>
  NAMED[thresholds?.steps.findLast(({ value: least }) => least === null || value >= least).color ?? 'green'];

const statOf = ({ series, options, fieldConfig: { defaults } }) => {
  const isName = options.textMode === 'name';
  const [text] = series.map(({ legend, points }) => {
    const value = points.at(-1)[1];
    return { words: isName ? legend : formatted(value, defaults.unit), colour: colourOf(defaults, value) };
  });
  return { ...text, isName, hasLine: options.graphMode === 'area' };
};

const placeOf = ({ x, y, w, h }) => {
  const column = (WIDTH - 2 * GAP) / COLUMNS;
  const pixels = {
    left: GAP + x * column + GAP / 2,
    top: y * ROW_HEIGHT,
    width: w * column - GAP,
    height: h * ROW_HEIGHT - GAP,
  };
  return Object.fromEntries(Object.entries(pixels).map(([name, value]) => [name, `${Math.round(value)}px`]));
};

/**
 * Draws a dashboard as its file says, with what its queries found, and stores the picture as PNG.
 *
 * @param given `panels` of the dashboard, each with its `series`; `times` that were asked for
 * @returns the size of the file in bytes
 */
export const drawDashboard = async ({ dashboard, panels, times, file }) => {
  const { start, end, step } = times;
  const seconds = Array.from({ length: Math.floor((end - start) / step) + 1 }, (_, index) => start + index * step);
  const drawn = panels.map((panel) => {
    const { type, title, gridPos, series, fieldConfig: { defaults = {} } = {} } = panel;
    return {
      type,
      title,
      place: placeOf(gridPos),
      stat: type === 'stat' ? statOf(panel) : undefined,
      series: series.map(({ legend, points }) => {
        const byTime = new Map(points.map(([at, value]) => [Math.round((at - start) / step), value]));
        return { label: legend, values: seconds.map((_, index) => byTime.get(index) ?? null) };
      }),
      isStacked: defaults.custom?.stacking?.mode === 'normal',
      max: defaults.max,
      unit: defaults.unit,
    };
  });
  const rows = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h));
  const { chromium: executablePath } = findChromium();
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage({ viewport: { width: WIDTH, height: 900 } });
    page.on('pageerror', (error) => {
      throw error;
    });
    await page.setContent(`<!doctype html><header></header><main style="height:${rows * ROW_HEIGHT + GAP}px"></main>`);
    await page.addStyleTag({ content: uplot('uPlot.min.css') });
    await page.addScriptTag({ content: uplot('uPlot.iife.min.js').replace('var uPlot', 'globalThis.uPlot') });
    const units = readFileSync(new URL('units.mjs', import.meta.url), 'utf8');
    await page.addScriptTag({ type: 'module', content: `${units}\nglobalThis.formatted = formatted;` });
    await page.waitForFunction(() => globalThis.formatted && globalThis.uPlot);
    await page.evaluate(draw, {
      heading: dashboard.title,
      panels: drawn,
      seconds,
      style: STYLE,
      colours: COLOURS.split(' '),
    });
    // uPlot draws in a microtask.
    await page.evaluate(() => new Promise(requestAnimationFrame));
    const shot = await page.screenshot({ fullPage: true });
    const pixels = await page.evaluate(
      async (source) => {
        const image = await createImageBitmap(await (await fetch(source)).blob());
        const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
        context.drawImage(image, 0, 0);
        const bytes = context.getImageData(0, 0, image.width, image.height).data;
        const base64 = await new Promise((resolve) => {
          const reader = new FileReader();
          reader.addEventListener('load', () => resolve(reader.result.split(',')[1]));
          reader.readAsDataURL(new Blob([bytes]));
        });
        return { width: image.width, height: image.height, base64 };
      },
      `data:image/png;base64,${shot.toString('base64')}`,
    );
    const png = indexedPng({ ...pixels, pixels: Buffer.from(pixels.base64, 'base64') });
    writeFileSync(file, png);
    return png.length;
  } finally {
    await browser.close();
  }
};
