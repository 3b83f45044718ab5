// What an SDK made of the messages of webhooks, held against what it has to make of them.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const read = (path) => JSON.parse(readFileSync(path, 'utf8'));

/** The file with the messages. */
export const VECTORS = here('../../../openapi/sdk/webhook-vectors.json');
const { secret, vectors } = read(VECTORS);
const { Event } = read(here('../../../openapi/openapi.json')).components.schemas;

/** An outcome without the members of its event that the document doesn't know: an SDK may leave them out. */
const known = ({ ok, ...outcome }) => {
  if (!ok?.event) return { ...outcome, ...(ok && { ok }) };
  const members = Object.entries(ok.event).filter(([name]) => name in Event.properties);
  return { ...outcome, ok: { ...ok, event: Object.fromEntries(members) } };
};

/**
 * Holds what a program printed, a line of JSON for each message, against the messages.
 *
 * @throws Error that names the messages of which something else should have come, and shows it
 */
export const compareWebhooks = (output) => {
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  const came = new Map(lines.map((line) => JSON.parse(line)).map(({ name, ...outcome }) => [name, outcome]));
  const wrong = vectors.filter(({ name, expect }) => !isDeepStrictEqual(known(came.get(name) ?? {}), known(expect)));
  const unknown = [...came.keys()].filter((name) => !vectors.some((vector) => vector.name === name));
  const texts = wrong.map(
    ({ name, expect }) =>
      `${name}\n  should be: ${JSON.stringify(expect)}\n  but is:    ${JSON.stringify(came.get(name)) ?? 'absent'}`,
  );
  if (texts.length + unknown.length > 0) throw new Error([...texts, ...unknown].join('\n'));
  if (output.includes(secret)) throw new Error('it printed the secret');
};
