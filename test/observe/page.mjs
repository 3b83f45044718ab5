/**
 * Draws everything. Runs in the page, and sees nothing else of this module.
 *
 * @param given the `heading`; `panels`, each with its place and the values of its series; the `seconds` that those belong to;
 *   the page's `style`; the `colours` of series
 */
export const draw = ({ heading, panels, seconds, style, colours }) => {
  document.head.append(Object.assign(document.createElement('style'), { textContent: style }));
  const add = (parent, name, properties = {}) => {
    const element = Object.assign(document.createElement(name), properties);
    parent.append(element);
    return element;
  };
  document.querySelector('header').textContent = heading;
  const main = document.querySelector('main');
  const two = (number) => String(number).padStart(2, '0');
  const timeOf = (second) => {
    const time = new Date(second * 1000);
    return `${two(time.getUTCHours())}:${two(time.getUTCMinutes())}:${two(time.getUTCSeconds())}`;
  };
  const plot = (box, { lines, axes, bands = [], max, looks }) =>
    new globalThis.uPlot(
      {
        width: box.clientWidth,
        height: box.clientHeight,
        legend: { show: false },
        cursor: { show: false },
        scales: { y: { range: (_, low, high) => [0, max ?? (high > 0 ? high * 1.08 : 1)] } },
        axes,
        bands,
        series: [{}, ...lines.map((_, index) => ({ width: 1.2, points: { show: false }, ...looks(index) }))],
      },
      [seconds, ...lines],
      box,
    );
  for (const { type, title, place, stat, series, isStacked, max, unit } of panels) {
    const box = add(main, type === 'row' ? 'h2' : 'section');
    Object.assign(box.style, place);
    if (type === 'row') {
      box.textContent = `⌄ ${title}`;
      continue;
    }
    add(box, 'h3', { textContent: title });
    if (stat) {
      const value = add(box, 'div', { className: `stat ${stat.isName ? 'name' : ''}`, textContent: stat.words });
      value.style.color = stat.colour;
      if (stat.hasLine) {
        plot(add(box, 'div', { className: 'line' }), {
          lines: series.slice(0, 1).map(({ values }) => values),
          axes: [{ show: false }, { show: false }],
          looks: () => ({ stroke: stat.colour, fill: `${stat.colour}18` }),
        });
      }
      continue;
    }
    const chart = add(box, 'div', { className: 'chart' });
    const legend = add(box, 'div', { className: 'legend' });
    for (const [index, { label }] of series.entries()) {
      const entry = add(legend, 'span');
      add(entry, 'i').style.background = colours[index % colours.length];
      entry.append(label);
    }
    // Of what is stacked, each line is the sum of those up to it.
    const lines = series.map(({ values }) => [...values]);
    if (isStacked) {
      for (let index = 1; index < lines.length; index += 1) {
        lines[index] = lines[index].map((value, at) => (value ?? 0) + (lines[index - 1][at] ?? 0));
      }
    }
    const axis = {
      font: '11px sans-serif',
      stroke: '#666',
      grid: { stroke: '#eee', width: 1 },
      ticks: { show: false },
    };
    const powersOfTwo = Array.from({ length: 40 }, (_, power) => 2 ** power);
    plot(chart, {
      lines,
      max,
      axes: [
        { ...axis, size: 22, space: 90, values: (_, splits) => splits.map(timeOf) },
        {
          ...axis,
          ...(unit === 'bytes' && { incrs: powersOfTwo }),
          size: 74,
          space: 28,
          values: (_, splits) => splits.map((value) => globalThis.formatted(value, unit)),
        },
      ],
      bands: isStacked ? lines.slice(1).map((_, index) => ({ series: [index + 2, index + 1] })) : [],
      looks: (index) => {
        const colour = colours[index % colours.length];
        return { stroke: colour, fill: `${colour}${isStacked ? '40' : '18'}` };
      },
    });
  }
};
