import { type ProcedureMetadata, procedures } from '../../../contract/index.ts';
import type { ProcedureId, Reply, TestApp, TestUser } from '../app/app.ts';

/** An operation that writes. */
export type Write = ProcedureMetadata & { id: ProcedureId };

/** All operations that write. */
export const writes = procedures.filter(({ effect }) => effect === 'write') as Write[];

/** The header of a request that may be repeated. */
export const repeating = (value: string) => ({ 'Idempotency-Key': value });

/** Whether a reply was given before. */
export const isReplay = ({ headers }: Pick<Reply, 'headers'>): boolean => headers['idempotency-replayed'] === 'true';

/** The member of an operation's input that names a record, if one does. */
export const idMember = ({ example }: Pick<Write, 'example'>): string | undefined =>
  Object.keys(example.input as object).find((name) => name === 'id' || name.endsWith('Id'));

/** An input for an operation, which concerns a new record of the author's, where it concerns one. */
export const anInput = async (app: TestApp, operation: Write, author: TestUser): Promise<Record<string, unknown>> => {
  const input = operation.example.input as Record<string, unknown>;
  const member = idMember(operation);
  if (member === undefined) return input;
  const record = operation.id.startsWith('game.') ? await app.aGame({}, author) : await app.anImagePost({}, author);
  return { ...input, [member]: record.id };
};
