import { z } from 'zod';
import { Count, mapOf, Timestamp } from './common.ts';
import { exampleContract } from './examples.ts';
import { inBytes, lengths, MAX_CONTRACT_BYTES, MAX_CONTRACTS, MAX_NEEDED_MEMBERS, MAX_NEEDS } from './limits.ts';
import { noInput, procedure, router } from './procedure.ts';
import { form, keyless, line, text, words } from './text.ts';

const Pointer = z.string().regex(/^\//, 'must be a JSON pointer such as /items/*/title');
const Pointers = z.array(Pointer);
/** The least and the greatest value. */
const Extremes = z.array(z.number()).length(2);

const Need = z
  .strictObject({
    operation: z.string().min(1).describe('The operation that is called, such as `game.list`.'),
    test: z.string().exactOptional().describe('The name of the test that calls it.'),
    sends: Pointers.describe(
      'The members that one call sends, as JSON pointers into `json`, with `*` for each element; and the words of the contract among their values: `/sortBy`, `/sortBy=latest`.',
    ),
    extremes: z
      .record(Pointer, Extremes)
      .exactOptional()
      .describe(
        'The least and the greatest that its calls send at a place: the length of a text in code points, a number, the count of an array. `/tagNames/*` is each element.',
      ),
    reads: Pointers.exactOptional().describe(
      'The members of the output that are read, as JSON pointers likewise. Left out where that is not known: any may be.',
    ),
    requires: Pointers.exactOptional().describe('The members of the output without which the client refuses it.'),
    decodes: z
      .literal(true)
      .exactOptional()
      .describe(
        'Set where the client decodes the whole output: it refuses one that lacks a member or has one of another type, also if that is not read. It takes new words.',
      ),
    reasons: z.array(z.string()).describe('The reasons of failures that it handles, such as `GAME_NOT_FOUND`.'),
  })
  .meta({ description: 'What a consumer needs of an operation.' });

/** The needs of a consumer, recorded by its own tests: its repository keeps this file. */
export const ConsumerContract = z
  .strictObject({
    $schema: z.string().exactOptional(),
    consumer: z.string().min(1).describe('The name of the consumer, such as `shop-web`.'),
    contract: z.string().min(1).describe('The version of the gateway that it was tested with.'),
    needs: z.array(Need).describe('What it needs; calls of one operation that send other members have an entry each.'),
  })
  .meta({
    title: 'Consumer contract of the content gateway',
    description: 'What a consumer sends to the content gateway, what it reads, and which failures it handles.',
  });
export type ConsumerContract = z.output<typeof ConsumerContract>;
export type Need = z.output<typeof Need>;

/** Whether a value is a consumer contract. */
export const isConsumerContract = (value: unknown): value is ConsumerContract =>
  ConsumerContract.safeParse(value).success;

/** The error for a text that is not a consumer contract. The message says why. */
export class ConsumerContractError extends Error {}

/** Parses a consumer contract; a byte order mark may precede it. @throws ConsumerContractError */
export const parseConsumerContract = (name: string, source: string): ConsumerContract => {
  let json: unknown;
  try {
    json = JSON.parse(source.replace(/^\uFEFF/, ''));
  } catch {
    throw new ConsumerContractError(`${name} is no JSON.`);
  }
  const { success, data, error } = ConsumerContract.safeParse(json);
  if (!success) throw new ConsumerContractError(`${name} is no consumer contract:\n${z.prettifyError(error)}`);
  return data;
};

/** The JSON Schema of consumer contracts. */
export const consumerContractSchema = (): object => z.toJSONSchema(ConsumerContract, { io: 'input' });

const names = (schema: z.ZodString) => z.array(keyless(schema)).max(MAX_NEEDED_MEMBERS);
const pointer = text(1, lengths.pointer, form('^[/][^\\x00]*$', 'must be a JSON pointer such as /items/*/title'));
const pointers = names(pointer);
const described = <S extends z.ZodType>(schema: S, { description }: z.ZodType): S => schema.describe(description ?? '');
const { operation, test, sends, extremes, reads, requires, decodes, reasons } = Need.shape;

/** A need as the gateway stores it, with limits; needs in files have none. */
const PublishedNeed = z
  .strictObject({
    operation: described(keyless(line(1, lengths.contractName)), operation),
    test: described(keyless(text(1, lengths.testName)).optional(), test),
    sends: described(pointers, sends),
    extremes: described(mapOf(keyless(pointer), Extremes, MAX_NEEDED_MEMBERS).optional(), extremes),
    reads: described(pointers.optional(), reads),
    requires: described(pointers.optional(), requires),
    decodes: described(z.boolean().optional(), decodes),
    reasons: described(names(line(1, lengths.contractName)), reasons),
  })
  .meta({ id: 'ConsumerNeedInput', description: 'What a consumer needs of an operation.' });

const ConsumerName = keyless(text(1, lengths.consumer, words));
const ContractTag = keyless(
  text(1, lengths.contractTag, form('^[A-Za-z0-9][A-Za-z0-9._-]*$', 'must be letters, digits, ".", "_" and "-"')),
);
const GatewayVersion = keyless(line(1, lengths.version));

/** A consumer contract as the gateway stores it. */
const PublishedContract = z
  .strictObject({
    consumer: described(ConsumerName, ConsumerContract.shape.consumer),
    contract: described(GatewayVersion, ConsumerContract.shape.contract),
    needs: described(z.array(PublishedNeed).min(1).max(MAX_NEEDS), ConsumerContract.shape.needs),
  })
  .meta({
    id: 'ConsumerContractInput',
    description: 'What a consumer sends, what it reads, and which failures it handles, by its tests.',
  });

const ContractSummary = z
  .object({
    consumer: z.string().describe('The name of the consumer'),
    tag: z.string().describe('The tag under which the contract is kept'),
    contract: z.string().describe('The version of the gateway that the consumer was tested with'),
    needCount: Count.describe('The number of its needs'),
    publishedAt: Timestamp.describe('When it was last published'),
  })
  .meta({ id: 'ConsumerContractSummary', description: 'A consumer contract that was published.' });

const ofContract = {
  consumer: ConsumerName.describe('The name of the consumer'),
  tag: ContractTag.describe('The tag under which the contract is kept'),
};
const { needs, publishedAt, tag, ...ofExample } = exampleContract;
const exampleSummary = { ...ofExample, tag, needCount: needs.length, publishedAt };

export const consumerContract = router('consumerContract', {
  publish: procedure({
    summary: 'Publish a contract',
    description: `Keeps a consumer's contract under a tag, in place of the one before: the operator asks with it before a release. A file by \`record\` or an SDK is one, without its \`$schema\`. A user has ${MAX_CONTRACTS} at most, of ${inBytes(MAX_CONTRACT_BYTES)} in all.`,
    access: 'contract:write',
    effect: 'write',
    input: z.strictObject({
      tag: ContractTag.describe('A word for where this version of the consumer is in use, such as `production`'),
      contract: PublishedContract,
    }),
    holdsManyValues: true,
    output: ContractSummary,
    laws: ['lists', 'replaces'],
    errors: ['CONTRACT_UNKNOWN', 'CONTRACT_LIMIT'],
    example: { input: { tag, contract: { ...ofExample, needs } }, output: exampleSummary },
  }),

  list: procedure({
    summary: 'List contracts',
    description: 'Lists the contracts that the user of the API key has published, by consumer and tag.',
    access: 'contract:write',
    effect: 'read',
    input: noInput(),
    output: z.object({ items: z.array(ContractSummary).describe('All contracts of the user') }),
    errors: [],
    example: { input: {}, output: { items: [exampleSummary] } },
  }),

  delete: procedure({
    summary: 'Delete a contract',
    description: 'Deletes the contract of a consumer that is no longer in use.',
    access: 'contract:write',
    effect: 'write',
    input: z.strictObject(ofContract),
    output: z.object({
      consumer: z.string().describe('The name of the consumer'),
      tag: z.string().describe('The tag under which the contract was kept'),
    }),
    laws: ['removes'],
    errors: ['CONTRACT_NOT_FOUND'],
    example: { input: { consumer: ofExample.consumer, tag }, output: { consumer: ofExample.consumer, tag } },
  }),
});
