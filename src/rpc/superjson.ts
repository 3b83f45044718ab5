type JsonMembers = Record<string, unknown>;

const isMembers = (value: unknown): value is JsonMembers => typeof value === 'object' && value !== null;

/** The parts of a path. superjson escaped only dots until its `meta` got a `v`; since then backslashes too. */
const pathParts = (v: unknown): RegExp => (Number(v) >= 1 ? /\\([.\\])|\.|[^.\\]+|\\/g : /\\(\.)|\.|[^.\\]+|\\/g);

/** `a.b\\.c` → `['a', 'b.c']` */
const pathOf = (name: string, parts: RegExp): string[] => {
  const path = [''];
  for (const [part, escaped] of name.matchAll(parts)) {
    if (part === '.') path.push('');
    else path.push(path.pop() + (escaped ?? part));
  }
  return path;
};

const follow = (from: unknown, path: readonly string[]): unknown => {
  let value = from;
  for (const member of path) {
    if (!isMembers(value) || !Object.hasOwn(value, member)) return undefined;
    value = value[member];
  }
  return value;
};

/**
 * Reverts superjson's encoding of undefined members: it writes null and names them in `meta.values`. Other annotations
 * are ignored; the API has none, and superjson's own decoder can be made to use memory without bound. Each annotation
 * is visited once. `meta.values` is `{path: node}` or, for the whole of `json`, a node: `[type]` or `[type, {path:
 * node}]`.
 */
export const removeUndefined = (envelope: unknown): unknown => {
  if (!isMembers(envelope) || !isMembers(envelope['meta'])) return envelope;
  const { values, v } = envelope['meta'];
  const parts = pathParts(v);
  const pending: { parent: JsonMembers; path: string[]; node: unknown }[] = [];
  const addChildren = (parent: unknown, children: unknown): void => {
    if (!isMembers(parent) || !isMembers(children)) return;
    for (const [name, node] of Object.entries(children)) pending.push({ parent, path: pathOf(name, parts), node });
  };

  if (Array.isArray(values)) pending.push({ parent: envelope, path: ['json'], node: values });
  else addChildren(envelope['json'], values);

  for (let next = pending.pop(); next; next = pending.pop()) {
    const { parent, path, node } = next;
    if (!Array.isArray(node)) continue;
    const holder = follow(parent, path.slice(0, -1));
    const name = path.at(-1) ?? '';
    if (!isMembers(holder) || !Object.hasOwn(holder, name)) continue;
    if (node[0] === 'undefined' && holder[name] === null && !Array.isArray(holder)) delete holder[name];
    else addChildren(holder[name], node[1]);
  }
  return envelope;
};
