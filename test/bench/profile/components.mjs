const NET = /^node:(net|tls|internal\/(streams|stream_base_commons|net|js_stream_socket)|stream)/;
const HTTP = /^node:(_http|http|internal\/http)/;
const PACKAGE = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//g;
const OURS = /\/dist\/((?:src|contract|migrations|openapi)\/.*)\.js$/;

/** Packages that are shown together. */
const FAMILIES = [
  [/^mysql2$|^(sql-escaper|sqlstring|denque|iconv-lite|lru\.min|named-placeholders|generate-function|long)$/, 'mysql2'],
  [/^@ts-rest\//, 'ts-rest'],
  [
    /^(pino|sonic-boom|fast-redact|pino-std-serializers|safe-stable-stringify|on-exit-leak-free|thread-stream)$/,
    'pino',
  ],
  [/^(helmet|cors|vary)$/, 'helmet and cors'],
  [
    /^(express|router|body-parser|raw-body|finalhandler|send|serve-static|type-is|content-type|accepts|negotiator|mime-types|mime-db|parseurl|qs|encodeurl|escape-html|on-finished|ee-first|once|proxy-addr|forwarded|ipaddr\.js|fresh|etag|bytes|depd|http-errors|statuses|setprototypeof|toidentifier|unpipe|merge-descriptors|media-typer|cookie|cookie-signature|content-disposition|debug|ms|path-to-regexp|range-parser|inherits|iconv-lite)$/,
    'Express',
  ],
];

const familyOf = (name) => FAMILIES.find(([pattern]) => pattern.test(name))?.[1] ?? name;

/** What a frame of a profile belongs to, or undefined where only its caller can tell: native code has no address. */
const componentOf = ({ functionName, url }) => {
  switch (functionName) {
    case '(garbage collector)':
      return 'GC';
    case '(idle)':
    case '(root)':
      return functionName;
    case '(program)':
      return 'native: kernel, libuv, V8';
    default:
  }
  const name = [...url.matchAll(PACKAGE)].at(-1)?.[1];
  if (name) return familyOf(name);
  const file = OURS.exec(url)?.[1];
  if (file) return `${file}.ts`;
  if (NET.test(url)) return 'net and streams';
  if (HTTP.test(url)) return 'node:http';
  return url.startsWith('node:') ? 'node core' : undefined;
};

/**
 * How the CPU time of a profile divides among packages, parts of Node, and our own files. Samples are counted, not the
 * time between them, which also passes while other processes have the CPU.
 *
 * @returns the share of each component, without the time in which the process had nothing to do
 */
export const sharesByComponent = ({ nodes, samples }) => {
  const counts = new Map();
  for (const id of samples) counts.set(id, (counts.get(id) ?? 0) + 1);
  const components = new Map();
  const found = new Map();
  for (const node of nodes) {
    // Parents come before their children.
    const component = componentOf(node.callFrame) ?? components.get(node.id) ?? 'native: kernel, libuv, V8';
    for (const child of node.children ?? []) components.set(child, component);
    found.set(component, (found.get(component) ?? 0) + (counts.get(node.id) ?? 0));
  }
  found.delete('(idle)');
  found.delete('(root)');
  const sum = [...found.values()].reduce((a, b) => a + b, 0);
  return [...found].map(([component, count]) => [component, count / sum]).toSorted(([, a], [, b]) => b - a);
};
