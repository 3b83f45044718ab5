import { z } from 'zod';

const mark = z.literal(true).exactOptional();
const PartUse = z.object({ name: z.string(), lastDay: z.iso.date(), deprecated: mark });

/** The uses of consumers, as `keys use --json` writes them: a line for each consumer. */
const NamedUse = z.object({
  consumer: z.string().min(1),
  clients: z.array(PartUse),
  operations: z.array(
    z.object({ operation: z.string(), lastDay: z.iso.date(), deprecated: mark, parts: z.array(PartUse) }),
  ),
  key: z.object({ id: z.string(), name: z.string(), userId: z.string(), isSuspended: mark }).exactOptional(),
});
export type NamedUse = z.output<typeof NamedUse>;

/** The error for a line that is not a use. The message names it. */
export class UseError extends Error {}

/** Reads the output of `keys use --json`. @throws UseError */
export const parseUses = (name: string, text: string): NamedUse[] =>
  text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .map((line, index) => ({ line, number: index + 1 }))
    .filter(({ line }) => line.trim() !== '')
    .map(({ line, number }) => {
      try {
        return NamedUse.parse(JSON.parse(line));
      } catch {
        throw new UseError(`Line ${number} of ${name} is none of \`keys use --json\`.`);
      }
    });
