import type { Operation } from '../../../contract/index.ts';

type ExampleCall = Pick<Operation, 'id' | 'route' | 'example'>;

const known = new Map<string, unknown>();

const isInput = ({ route }: ExampleCall, json: unknown): boolean => route.body.safeParse({ json }).success;

/** The required part of an input. */
const leastOf = (procedure: ExampleCall): unknown => {
  let least = procedure.example.input as Record<string, unknown>;
  for (const name of Object.keys(least)) {
    const { [name]: value, ...rest } = least;
    const shorter = Array.isArray(value) ? { ...least, [name]: value.slice(0, 1) } : least;
    least = isInput(procedure, rest) ? rest : shorter;
  }
  return least;
};

/** The shortest input that a procedure takes, made from its example. */
export const leastInput = (procedure: ExampleCall): unknown => {
  const { id } = procedure;
  if (!known.has(id)) known.set(id, leastOf(procedure));
  return known.get(id);
};
