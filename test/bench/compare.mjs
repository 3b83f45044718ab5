import { isDeepStrictEqual } from 'node:util';

const SAMPLE = 40;
/** What differs from call to call, or is each server's own: a cursor is opaque. */
const IGNORED = new Set(['viewCount', 'nextCursor']);
const OF_A_NEW_RECORD = new Set([...IGNORED, 'id', 'createdAt', 'updatedAt']);

/** Calls a procedure of a server. @throws Error for an answer other than 200 */
export const call = async ({ name, port }, procedure, { input, key }) => {
  const response = await fetch(`http://127.0.0.1:${port}/api/trpc/${procedure}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(key && { Authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ json: input }),
  });
  const text = await response.text();
  if (response.status !== 200) {
    throw new Error(`${name} answers ${procedure} ${JSON.stringify(input)} with ${response.status}: ${text}`);
  }
  return JSON.parse(text).result.data.json;
};

const without = (names, value) => {
  if (Array.isArray(value)) return value.map((item) => without(names, item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !names.has(name))
      .map(([name, member]) => [name, without(names, member)]),
  );
};

/** The first place in which two values differ, in words. */
const difference = (a, b, path = '') => {
  const areObjects = [a, b].every((value) => typeof value === 'object' && value !== null);
  if (!areObjects) return `${path}: ${JSON.stringify(a)} and ${JSON.stringify(b)}`;
  const name = [...new Set([...Object.keys(a), ...Object.keys(b)])].find((key) => !isDeepStrictEqual(a[key], b[key]));
  return difference(a[name], b[name], `${path}/${name}`);
};

/** Calls a toggle twice, so that all is as before. */
const twice = async (server, procedure, one) => [
  await call(server, procedure, one),
  await call(server, procedure, one),
];

/**
 * Demands that some servers answer the same to calls of an operation.
 * @throws Error that names the first difference
 */
export const demandEqualAnswers = async ([first, ...others], { procedure, calls, isWrite }) => {
  const step = Math.max(1, Math.floor(calls.length / SAMPLE));
  const sample = calls.filter((_, index) => index % step === 0).slice(0, isWrite ? 3 : SAMPLE);
  const ask = procedure.includes('toggle') ? twice : call;
  const ignored = isWrite ? OF_A_NEW_RECORD : IGNORED;
  for (const one of sample) {
    const expected = without(ignored, await ask(first, procedure, one));
    for (const other of others) {
      const actual = without(ignored, await ask(other, procedure, one));
      if (isDeepStrictEqual(actual, expected)) continue;
      const what = `${procedure} ${JSON.stringify(one.input)}`;
      throw new Error(`${first.name} and ${other.name} differ in ${what}${difference(expected, actual)}`);
    }
  }
};
