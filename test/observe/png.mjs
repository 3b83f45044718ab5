import { deflateSync } from 'node:zlib';

const COLOURS = 256;
const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xed_b8_83_20 : value >>> 1;
  return value;
});

const checksum = (bytes) => {
  let value = 0xff_ff_ff_ff;
  for (const byte of bytes) value = TABLE[(value ^ byte) & 0xff] ^ (value >>> 8);
  return (value ^ 0xff_ff_ff_ff) >>> 0;
};

const chunk = (type, data) => {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const around = Buffer.alloc(8);
  around.writeUInt32BE(data.length, 0);
  around.writeUInt32BE(checksum(named), 4);
  return Buffer.concat([around.subarray(0, 4), named, around.subarray(4)]);
};

const distance = (a, b) =>
  ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;

/**
 * A PNG with the most frequent colours, which suffice for charts and text and take a third of the room.
 *
 * @param pixels red, green, blue and alpha of each, line by line; all opaque
 */
export const indexedPng = ({ width, height, pixels }) => {
  const counts = new Map();
  const colourAt = (index) => (pixels[index * 4] << 16) | (pixels[index * 4 + 1] << 8) | pixels[index * 4 + 2];
  for (let index = 0; index < width * height; index += 1) {
    const colour = colourAt(index);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const byFrequency = [...counts].toSorted(([, a], [, b]) => b - a).map(([colour]) => colour);
  const palette = byFrequency.slice(0, COLOURS);
  const places = new Map(palette.map((colour, place) => [colour, place]));
  for (const colour of byFrequency.slice(COLOURS)) {
    const distances = palette.map((other) => distance(colour, other));
    places.set(colour, distances.indexOf(Math.min(...distances)));
  }
  const lines = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) lines[y * (width + 1) + 1 + x] = places.get(colourAt(y * width + x));
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // Eight bits for each pixel, by a palette.
  head.set([8, 3], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(lines, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
};
