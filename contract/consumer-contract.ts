import { z } from 'zod';

const Pointers = z.array(z.string().regex(/^\//, 'must be a JSON pointer such as /items/*/title'));

const Need = z
  .strictObject({
    operation: z.string().min(1).describe('The operation that is called, such as `game.list`.'),
    test: z.string().exactOptional().describe('The name of the test that calls it.'),
    sends: Pointers.describe(
      'The members that one call sends, as JSON pointers into `json`, with `*` for each element; and the words of the contract among their values: `/sortBy`, `/sortBy=latest`.',
    ),
    reads: Pointers.exactOptional().describe(
      'The members of the output that are read: `/items/*/title`. Left out where that is not known: any may be.',
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

/** The needs of a consumer by its own tests: a file that its repository keeps. */
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

/** A text that is no consumer contract. The message says why. */
export class ConsumerContractError extends Error {}

/** Reads a consumer contract. @throws ConsumerContractError */
export const parseConsumerContract = (name: string, text: string): ConsumerContract => {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new ConsumerContractError(`${name} is no JSON.`);
  }
  const { success, data, error } = ConsumerContract.safeParse(json);
  if (!success) throw new ConsumerContractError(`${name} is no consumer contract:\n${z.prettifyError(error)}`);
  return data;
};

/** The JSON Schema of consumer contracts. */
export const consumerContractSchema = (): object => z.toJSONSchema(ConsumerContract, { io: 'input' });
