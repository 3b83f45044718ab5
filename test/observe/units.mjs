// Runs in the page as well, therefore imports nothing.

const SECONDS = [
  [1e-6, 'µs'],
  [1e-3, 'ms'],
  [1, 's'],
];
const BYTES = [
  [1, 'B'],
  [1024, 'KiB'],
  [1024 ** 2, 'MiB'],
  [1024 ** 3, 'GiB'],
];
const COUNTS = [
  [1, ''],
  [1e3, 'K'],
  [1e6, 'Mil'],
];

/** Three digits of what counts. */
const digits = (value) => String(Number(value.toPrecision(3)));

const scaled = (value, scales, gap = ' ') => {
  const [factor, name] = scales.findLast(([least]) => Math.abs(value) >= least) ?? scales[0];
  return `${digits(value / factor)}${name && gap}${name}`;
};

const FORMATS = {
  short: (value) => scaled(value, COUNTS),
  reqps: (value) => `${scaled(value, COUNTS)} req/s`,
  ops: (value) => `${scaled(value, COUNTS)} ops/s`,
  percentunit: (value) => `${digits(value * 100)}%`,
  s: (value) => (value === 0 ? '0 s' : scaled(value, SECONDS)),
  bytes: (value) => scaled(value, BYTES),
};

/** A number with the unit of its panel, as Grafana writes it. @throws Error for a unit that no panel had so far */
export const formatted = (value, unit) => {
  if (!(unit in FORMATS)) throw new Error(`the unit ${unit} is not known here`);
  return FORMATS[unit](value);
};
