import type { z } from 'zod';
import { type Access, type Procedure, procedures, type Scope } from '../../../contract/index.ts';
import { inputSchemaOf, outputSchemaOf, type ToolSchema } from './schema.ts';

/** Hints on a tool for clients: https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations */
interface Annotations {
  readOnlyHint?: true;
  destructiveHint?: false;
  idempotentHint?: true;
  openWorldHint: false;
}

/** A procedure as a tool. */
export interface Tool {
  [member: string]: unknown;
  name: string;
  title: string;
  description: string;
  inputSchema: ToolSchema & { type: 'object' };
  outputSchema: ToolSchema & { type: 'object' };
  annotations: Annotations;
}

/** `game_list` of `game.list`: some clients refuse dots. */
export const nameOf = ({ id }: Pick<Procedure, 'id'>): string => id.replace('.', '_');

/** Only what differs from the protocol's defaults: a write is destructive and not idempotent. */
const annotationsOf = ({ effect, name }: Procedure): Annotations => {
  if (effect === 'read') return { readOnlyHint: true, openWorldHint: false };
  if (/create$/i.test(name)) return { destructiveHint: false, openWorldHint: false };
  if (name.startsWith('update')) return { idempotentHint: true, openWorldHint: false };
  return { openWorldHint: false };
};

/**
 * The scopes of procedures that are no tools: secrets, which replies about webhooks and keys hold, are not for models, nor is what
 * keys may do. Contracts are published by the pipelines that test them.
 */
const APART: readonly Access[] = ['webhook:write', 'key:write', 'contract:write'];
const isTool = ({ access }: Pick<Procedure, 'access'>): boolean => !APART.includes(access);
const callable = procedures.filter(isTool);

const inputOf = ({ route }: Procedure): z.ZodType => (route.body as z.ZodObject<{ json: z.ZodType }>).shape.json;

/** The schema of the envelope `result.data.json`. */
type Reply = z.ZodObject<{ result: z.ZodObject<{ data: z.ZodObject<{ json: z.ZodType }> }> }>;

const outputOf = ({ route }: Procedure): z.ZodType =>
  (route.responses[200] as Reply).shape.result.shape.data.shape.json;

/** A procedure as a tool. */
export const toolOf = (procedure: Procedure): Tool => ({
  name: nameOf(procedure),
  title: procedure.route.summary,
  description: procedure.route.description,
  inputSchema: inputSchemaOf(inputOf(procedure)),
  outputSchema: outputSchemaOf(outputOf(procedure)),
  annotations: annotationsOf(procedure),
});

const ids: ReadonlyMap<string, string> = new Map(callable.map((procedure) => [nameOf(procedure), procedure.id]));

/** The id of the procedure that is called by this tool, if there is one. */
export const idOf = (tool: string): string | undefined => ids.get(tool);

/** Lists of tools by scopes. */
const lists = new Map<string, Tool[]>();

/** The tools that a caller with these scopes may use, in the order of the contract. */
export const toolsFor = (scopes: readonly Scope[]): Tool[] => {
  const mayCall = ({ access }: Procedure): boolean => access === 'public' || scopes.includes(access);
  const allowed = callable.filter(mayCall);
  const key = allowed.map(({ id }) => id).join();
  const known = lists.get(key) ?? allowed.map(toolOf);
  lists.set(key, known);
  return known;
};

/** The largest body that any tool of a caller with these scopes takes, in bytes. */
export const bodyLimitFor = (scopes: readonly Scope[]): number =>
  Math.max(
    ...callable
      .filter(({ access }) => access === 'public' || scopes.includes(access))
      .map(({ bodyLimit }) => bodyLimit),
  );
