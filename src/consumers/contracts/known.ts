import type { z } from 'zod';
import { isStream, type Operation, operations, webhookMessages } from '../../../contract/index.ts';
import type { Need } from '../../../contract/consumer-contract.ts';
import { pointerOf } from '../../../contract/issues.ts';
import { partsOf, schemasIn, type Side } from '../../../contract/parts.ts';

// Checks that this gateway has the operations, members, words and reasons that a contract names.

type NamedNeed = Pick<Need, 'operation' | 'sends' | 'reasons'> & {
  reads?: string[] | undefined;
  requires?: string[] | undefined;
};

/** The most unknown parts that an answer names. */
const MAX_TOLD = 5;

/** The members and words of a schema in an envelope, as pointers with `*` for each element and each key of a map. */
const namesIn = (schema: z.ZodType, side: Side, envelope: string): Set<string> => {
  const members = Array.from(schemasIn(schema, side), ({ path }) => pointerOf(path));
  const words = partsOf(schema, side).map(({ name }) => name);
  const inside = [...members, ...words].filter((name) => name.startsWith(envelope));
  return new Set(inside.map((name) => name.slice(envelope.length)));
};

const namesOf = (operation: Operation): Record<Side, Set<string>> => ({
  input: namesIn(operation.route.body, 'input', '/json'),
  output: isStream(operation)
    ? namesIn(operation.message, 'output', '/json')
    : namesIn(operation.route.responses[200], 'output', '/result/data/json'),
});

const known = new Map<string, Record<Side, Set<string>>>();
const messages = new Set(Object.keys(webhookMessages).map((name) => `webhook.message.${name}`));

/** Whether a pointer names a member; `*` matches any key of a map. */
const isNamed = (names: ReadonlySet<string>, pointer: string): boolean => {
  if (names.has(pointer)) return true;
  const steps = pointer.split('/');
  return [...names].some((name) => {
    const own = name.split('/');
    return own.length === steps.length && own.every((step, n) => step === '*' || step === steps[n]);
  });
};

/** The parts that a need names but this gateway lacks. */
const unknownIn = function* ({
  operation: id,
  sends,
  reads = [],
  requires = [],
  reasons,
}: NamedNeed): Generator<string> {
  // A contract may need the messages to its webhook. Only documents name their members.
  if (messages.has(id)) return;
  const operation = operations.find((one) => one.id === id);
  if (!operation) {
    yield id;
    return;
  }
  const names = known.get(id) ?? namesOf(operation);
  known.set(id, names);
  for (const pointer of sends) if (!isNamed(names.input, pointer)) yield `${id} ${pointer}`;
  for (const pointer of [...reads, ...requires]) if (!isNamed(names.output, pointer)) yield `${id} ${pointer}`;
  for (const reason of reasons) if (!operation.reasons.some((one) => one === reason)) yield `${id} ${reason}`;
};

/** The first parts that needs name but this gateway lacks: `game.list /titel`. */
export const unknownParts = (needs: readonly NamedNeed[]): string[] => {
  const found = new Set<string>();
  for (const need of needs) {
    for (const part of unknownIn(need)) {
      found.add(part);
      if (found.size === MAX_TOLD) return [...found];
    }
  }
  return [...found];
};
