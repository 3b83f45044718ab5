/** Puts a value at a path of keys. */
const setAt = (target, keys, value) => {
  let place = target;
  for (const key of keys.slice(0, -1)) place = place[key] ??= {};
  place[keys.at(-1)] = value;
};

const keysOf = (pointer) =>
  pointer
    .slice('#/'.length)
    .split('/')
    .map((key) => decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~'));

/** A document with the object at a path of keys, and all that this refers to. */
export const partOf = (document, path) => {
  const { openapi, info } = document;
  const part = { openapi, info: { title: info.title, version: info.version } };
  const pending = [path];
  const seen = new Set();
  for (const keys of pending) {
    const id = keys.join('\n');
    const value = keys.reduce((place, key) => place?.[key], document);
    if (seen.has(id) || value === undefined) continue;
    seen.add(id);
    setAt(part, keys, value);
    JSON.stringify(value, (key, member) => {
      if (key === '$ref' && String(member).startsWith('#/')) pending.push(keysOf(member));
      return member;
    });
  }
  return part;
};

/** Swagger UI prepares the whole document for each operation that opens: seconds, where a part takes none. */
export const resolverPlugin = () => ({
  afterLoad() {
    const { resolveSubtree } = this.fn;
    this.fn.resolveSubtree = (document, path, options) =>
      resolveSubtree(path.length === 0 ? document : partOf(document, path), path, options);
  },
  statePlugins: {
    spec: {
      // The document is JSON, which the parser of YAML takes long to read.
      wrapActions: {
        parseToJson:
          (_original, { specActions, specSelectors }) =>
          (text) =>
            specActions.updateJsonSpec(JSON.parse(text ?? specSelectors.specStr())),
      },
    },
  },
});
