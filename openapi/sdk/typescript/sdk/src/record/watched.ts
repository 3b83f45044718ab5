/** Whom the reading of members is told to, and what is known of the whole value. */
interface Watch {
  /** The places whose members have names of the caller's own: they are told as `*`, as elements are. */
  readonly maps: readonly string[];
  /** Told the JSON pointer of each member that is read, as often as it is. */
  readonly note: (pointer: string) => void;
}

/** The JSON pointer of a member, from what holds it. */
export const pointerTo = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** All that `watched` has made. */
const made = new WeakSet();

/** What tells that members which came are read, be it by listing or looking for them. Symbols, methods and what the program adds are no members. */
const trapsFor = (pointers: ReadonlyMap<PropertyKey, string>, note: Watch['note']): ProxyHandler<object> => {
  const tell = (name: PropertyKey): void => {
    const pointer = pointers.get(name);
    if (pointer !== undefined) note(pointer);
  };
  return {
    get: (target, name, receiver) => {
      tell(name);
      return Reflect.get(target, name, receiver) as unknown;
    },
    has: (target, name) => {
      tell(name);
      return Reflect.has(target, name);
    },
    // Listing members asks for each.
    getOwnPropertyDescriptor: (target, name) => {
      tell(name);
      return Reflect.getOwnPropertyDescriptor(target, name);
    },
  };
};

/**
 * A copy of a JSON value that tells which of its members are read. Each object is a proxy of a copy that holds the proxies of its
 * members, so that it can be frozen, sorted and compared.
 */
export const watched = <T>(value: T, watch: Watch, path = ''): T => {
  if (typeof value !== 'object' || value === null) return value;
  const isUnnamed = Array.isArray(value) || watch.maps.includes(path);
  const placeOf = (name: string): string => `${path}${isUnnamed ? '/*' : pointerTo(name)}`;
  const pointers = new Map(Object.keys(value).map((name) => [name, placeOf(name)]));
  const inner = Object.entries(value).map(([name, member]) => [name, watched<unknown>(member, watch, placeOf(name))]);
  const copy = Array.isArray(value)
    ? inner.map(([, member]) => member)
    : (Object.fromEntries(inner) as Record<string, unknown>);
  const proxy = new Proxy<object>(copy, trapsFor(pointers, watch.note));
  made.add(proxy);
  return proxy as T;
};

/** A value without proxies: copies of those, and of the lists and objects that may hold one. */
const withoutProxies = (value: unknown, copies = new Map<object, object>()): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  const isPlain = made.has(value) || Array.isArray(value) || Reflect.getPrototypeOf(value) === Object.prototype;
  if (!isPlain) return value;
  const known = copies.get(value);
  if (known) return known;
  const copy = Array.isArray(value) ? [] : {};
  copies.set(value, copy);
  for (const [name, member] of Object.entries(value)) {
    Object.defineProperty(copy, name, {
      value: withoutProxies(member, copies),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return copy;
};

/** Has `structuredClone` take what is watched: it refuses proxies. */
export const haveProxiesCloned = (): void => {
  const clone = globalThis.structuredClone as typeof structuredClone | undefined;
  if (!clone) return;
  globalThis.structuredClone = <T>(value: T, options?: Parameters<typeof clone>[1]): T => {
    try {
      return clone(value, options);
    } catch (error) {
      if ((error as Error).name !== 'DataCloneError') throw error;
      return clone(withoutProxies(value) as T, options);
    }
  };
};
