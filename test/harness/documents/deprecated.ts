import { z } from 'zod';
import { deprecated, deprecatedValues } from '../../../contract/deprecation.ts';
import { type Deprecation, proceduresOf } from '../../../contract/index.ts';
import { noInput, procedure, router } from '../../../contract/procedure.ts';

// A contract in which each kind of thing is deprecated, since nothing of ours is.

export const ofOperation: Deprecation = {
  since: '2026-02-01',
  sunset: '2026-09-01',
  use: '`shelf.list`',
  why: 'Lists hold the same.',
};
export const ofMember: Deprecation = {
  since: '2026-01-01',
  sunset: '2026-10-01',
  use: '`name`',
  why: 'Labels are names.',
};
export const ofValue: Deprecation = { since: '2026-03-01', use: '`latest`', why: 'It is the same order.' };
export const ofOutput: Deprecation = {
  since: '2026-01-01',
  sunset: '2026-07-01',
  use: '`position`',
  why: 'Ranks had gaps.',
};

const Order = deprecatedValues(z.enum(['latest', 'newest']), { newest: ofValue }).meta({
  id: 'ShelfOrder',
  description: 'The order of a shelf.',
});
const Filter = z.strictObject({
  name: z.string().optional().describe('The name'),
  label: deprecated(z.string().optional(), ofMember).describe('The label'),
});
const Item = z
  .object({
    position: z.int().describe('The place, from 1'),
    rank: deprecated(z.int().nullable().describe('The rank'), ofOutput),
  })
  .meta({ id: 'ShelfItem', description: 'A thing on a shelf.' });
const items = z.object({ items: z.array(Item).describe('The things') });
const item = { position: 1, rank: null };

export const shelf = router('shelf', {
  list: procedure({
    summary: 'List a shelf',
    description: 'The things on a shelf.',
    access: 'public',
    effect: 'read',
    input: z.strictObject({
      order: Order.default('newest').describe('The order'),
      filters: z
        .array(Filter.meta({ id: 'ShelfFilter', description: 'A filter.' }))
        .optional()
        .describe('Filters'),
    }),
    output: items,
    errors: [],
    example: { input: { order: 'latest' }, output: { items: [item] } },
  }),
  all: procedure({
    summary: 'List all',
    description: 'All things.',
    access: 'public',
    effect: 'read',
    input: noInput(),
    output: items,
    deprecated: ofOperation,
    errors: [],
    example: { input: {}, output: { items: [item] } },
  }),
  add: procedure({
    summary: 'Add a thing',
    description: 'Puts a thing on the shelf.',
    access: 'content:write',
    effect: 'write',
    input: z.strictObject({
      name: z.string().describe('The name'),
      label: deprecated(z.string().nullish().describe('The label'), ofMember),
    }),
    output: Item,
    errors: [],
    example: { input: { name: 'a' }, output: item },
  }),
  count: procedure({
    summary: 'Count things',
    description: 'How many things there are.',
    access: 'public',
    effect: 'read',
    input: noInput(),
    output: z.object({ count: z.int().describe('How many') }),
    errors: [],
    example: { input: {}, output: { count: 1 } },
  }),
});

/** The procedures of `shelf`. */
export const shelfProcedures = proceduresOf({ shelf });
