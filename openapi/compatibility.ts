import { isDeepStrictEqual } from 'node:util';
import type { Change as Difference } from './kit/conformance/document/change.ts';
import { unescaped } from './kit/conformance/document/schema.ts';

/** A change of the document as oasdiff reports it. */
export interface Change {
  /** The rule that found it. */
  id: string;
  /** The change in words, with names in backticks: a member by its path, such as `json/games/items/title`. */
  text: string;
  /** 1: compatible, 2: it may break callers, 3: it breaks callers. */
  level: 1 | 2 | 3;
  /** The operation that changed, if it is a single one. */
  operationId?: string;
  /** The name that the changelog must contain, if the text lacks it. */
  subject?: string;
  /** Set if no comparison can judge it. */
  isUnjudged?: boolean;
}

/** The version of a document. */
export interface Versioned {
  info: { version: string };
}

/** A stricter pattern may close a security hole: it needs no major version, but an entry in the changelog. */
const PATTERN_OF_INPUT = 'request-property-pattern-changed';
const SECURITY = 'Security\n';

/** Whether a pattern of an input differs only in its escapes. */
export const isSamePattern = ({ id, text }: Change): boolean => {
  const [, from, to] = / from `(.*)` to `(.*)`$/su.exec(text) ?? [];
  return id === PATTERN_OF_INPUT && from !== undefined && to !== undefined && unescaped(from) === unescaped(to);
};

/** A new scope reaches only callers with keys for it: it needs no major version, but an entry in the changelog. */
const VALUE_OF_REPLY = 'response-property-enum-value-added';
const SCOPES = '/apiKey/scopes/items/';

/** Demands with a condition; in place of an unconditional demand, they loosen. */
const CONDITIONS = new Set(['request-property-if-added', 'request-property-else-added']);
const NO_LONGER_DEMANDED = 'request-property-became-optional';

/** The names in backticks in the text of a change, without the choices in paths. */
export const namesIn = (text: string): string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) =>
    name
      .replaceAll(/(?:anyOf|oneOf|allOf)\[[^\]]*\]/g, '')
      .replaceAll(/\/+/g, '/')
      .replace(/\/$/, ''),
  );

const numbersOf = ({ info }: Versioned): number[] => info.version.split('.').map(Number);
const majorOf = ({ info }: Versioned): number => Number.parseInt(info.version, 10);

const describe = ({ operationId, text }: Change): string => (operationId ? `${operationId}: ${text}` : text);

/** Parts of a path that do not name a member. */
const BETWEEN = new Set(['', 'items', 'additionalProperties']);

/** The name that the changelog must contain: the changed header or member, else the operation. */
const subjectOf = ({ operationId, text, subject }: Change): string | undefined => {
  if (subject !== undefined) return subject;
  const [, header] = /\bheader `([^`\s]+)`/.exec(text) ?? [];
  if (header !== undefined) return header;
  const [, path] = /`([^`\s]+\/[^`\s]+)`/.exec(text) ?? [];
  return path?.split('/').findLast((part) => !BETWEEN.has(part)) ?? operationId;
};

/**
 * Kinds of changes: the words of our own comparison, our name in oasdiff's style, and the rules of oasdiff for them.
 */
const KINDS: readonly (readonly [words: RegExp, name: string, rules: RegExp])[] = [
  [/^(?:the|no|any) value\b/, 'enum-value', /enum|const/],
  [/^(?:the|no|any) type\b/, 'type', /type|null/],
  [/^one of \d+ choices/, 'choices', /(?:one|any)-of/],
  [/\bmember$/, 'member', /property-(?:removed|became-(?:optional|required))|new-required-request-property/],
];
const kindOf = ({ expected }: Difference): { name: string; rules: RegExp } => {
  const [, name, rules] = KINDS.find(([words]) => words.test(expected)) ?? [];
  if (name !== undefined && rules) return { name, rules };
  const keyword = expected
    .replace(/(?:imum)? .*/su, '')
    .replaceAll(/[A-Z]/g, '-$&')
    .toLowerCase();
  return { name: keyword, rules: new RegExp(`-${keyword.replaceAll(/[^\w-]/g, '.')}-`) };
};

/** The names of members on a path. */
const membersOn = (path: string): string =>
  path
    .split('/')
    .filter((part) => !BETWEEN.has(part) && part !== '*')
    .join('/');

/** The place of a difference: `the request` or a status, and the path in its body. */
const placeOf = ({ where }: Difference): [holder: string, path?: string] => {
  const [, holder = where, path] = /^(.+?) (\/.*)?$/su.exec(where) ?? [];
  return [holder, path];
};

const NAMED = /(?:^the request, \w+|^\w+ header) (\S+)$/;
/** A reason that moves to another status or code escapes clients that wait for the former one. */
const isMoved = ({ reason, came }: Difference): boolean => reason !== undefined && came !== 'nothing';

/** These two moved with 1.1.0, which was checked only by oasdiff. It does not know reasons. */
const MOVED_BEFORE = /^(?:CURSOR_INVALID|PAGE_TOO_DEEP) by status 400$/;

const toChange = (one: Difference): Change => {
  const { operation, where, expected, came, breaks, unsure } = one;
  const [holder, path] = placeOf(one);
  const header = NAMED.exec(where)?.[1];
  const steps =
    path
      ?.slice(1)
      .split('/')
      .map((step) => (step === '*' ? 'items' : step)) ?? [];
  const place = path === undefined ? where : `${holder} \`${steps.join('/')}${steps.at(-1) === 'items' ? '/' : ''}\``;
  const isBreaking = breaks || isMoved(one) || (unsure && header !== undefined);
  const verb = /^no |none$/.test(expected) ? 'added' : /^no(?:thing|ne)$/.test(came) ? 'removed' : 'changed';
  return {
    id: `${where.startsWith('the request') !== isMessage(operation) ? 'request' : 'response'}-property-${kindOf(one).name}-${verb}`,
    text: `${place}: ${expected}, now ${came}`,
    level: isBreaking ? 3 : unsure ? 2 : 1,
    operationId: operation,
    subject:
      one.reason ??
      /^no reason (\S+)$/.exec(expected)?.[1] ??
      header ??
      // The whole input or output has no name of its own.
      (steps.at(-1) === 'json' ? operation : undefined) ??
      steps.findLast((step) => !BETWEEN.has(step)) ??
      (where === 'the document' ? expected.split(' ', 1)[0]! : operation),
    isUnjudged: unsure === true && !isBreaking,
  };
};

/** Whether oasdiff knows a difference: a message, the kind of change there or, if no client breaks, its subject. */
const isKnown = (one: Difference, told: Change, found: readonly Change[]): boolean => {
  const { rules } = kindOf(one);
  const [holder, path] = placeOf(one);
  return found.some((change) => {
    if (one.expected === 'no such message') return change.id === 'webhook-added';
    if (change.operationId !== one.operation) return false;
    if (told.level === 1) return subjectOf(change) === told.subject;
    const names = namesIn(change.text);
    return (
      path !== undefined &&
      rules.test(change.id) &&
      (holder === 'the request' ? change.id.includes('request') : names.includes(holder)) &&
      names.some((name) => membersOn(name) === membersOn(path))
    );
  });
};

/** oasdiff takes messages to webhooks for requests of callers: it confuses changes that bind with those that loosen. */
const isMessage = (operationId = ''): boolean => /^webhook\.(?:message|callback)\./.test(operationId);

/** The changes by oasdiff, and our own ones that it misses or misjudges: it does not read `x-default`. */
export const together = (found: readonly Change[], own: readonly Difference[], released: Versioned): Change[] => {
  const theirs = found.filter(
    (change) => !isSamePattern(change) && !change.id.includes('-default-value-') && !isMessage(change.operationId),
  );
  const ours = own
    // removal.ts judges deprecations.
    .filter(({ expected }) => !expected.startsWith('x-deprecated'))
    .filter(({ expected, unsure }) => unsure === true || !expected.startsWith('default said by '))
    .filter(({ where, came }) => !(where.includes(' header ') && came === 'it is always there'))
    .filter(({ expected }) => released.info.version !== '1.0.0' || !MOVED_BEFORE.test(expected))
    .flatMap((one) => {
      const told = toChange(one);
      return isKnown(one, told, theirs) ? [] : [told];
    });
  return [...theirs, ...ours];
};

/** The text of the changelog below the heading `## <title>`, with or without the date; empty if missing. */
const sectionOf = (changelog: string, title: string): string => {
  const sections = changelog.split(/^## /m).slice(1);
  return sections.find((section) => section.split(/\n| \(/, 1)[0]?.trim() === title)?.slice(title.length) ?? '';
};

/** Whether a text has a name as a word, or at the end of one: `GameSummary.title`. Headers ignore case. */
export const isNamed = (subject: string, text: string): boolean =>
  text
    .split(/[^\w.-]+|\.(?=\s|$)/)
    .some((word) => word.toLowerCase() === subject.toLowerCase() || word.endsWith(`.${subject}`));

const isToldAsSecurity = (change: Change, entries: string): boolean => {
  const told = entries
    .split(/^### /m)
    .filter((section) => section.startsWith(SECURITY))
    .join('\n');
  return change.id === PATTERN_OF_INPUT && isNamed(subjectOf(change) ?? '', told);
};

const isToldAsScope = ({ id, text }: Change, entries: string): boolean =>
  id === VALUE_OF_REPLY && text.includes(SCOPES) && isNamed('scope', entries);

/** A change that no comparison can judge needs an entry in the changelog; a pattern needs one on security. */
const isToldUnjudged = (change: Change, entries: string): boolean =>
  change.isUnjudged === true && change.id !== PATTERN_OF_INPUT && isNamed(subjectOf(change) ?? '', entries);

/** Whether a condition replaced a demand: the same operation has one required member less. */
const isLoosened = ({ id, operationId }: Change, changes: readonly Change[]): boolean =>
  CONDITIONS.has(id) && changes.some((one) => one.id === NO_LONGER_DEMANDED && one.operationId === operationId);

const breaking = (changes: readonly Change[], entries: string): Change[] =>
  changes
    .filter((change) => change.level > 1 && !isLoosened(change, changes))
    .filter((change) => ![isToldAsSecurity, isToldAsScope, isToldUnjudged].some((isTold) => isTold(change, entries)));

const untold = (changes: readonly Change[], entries: string): string[] => {
  if (entries === '') return ['CHANGELOG.md must tell what changed, under `## Unreleased`'];
  return changes.flatMap((change) => {
    const subject = subjectOf(change);
    return subject === undefined || isNamed(subject, entries)
      ? []
      : [`CHANGELOG.md must name \`${subject}\` under \`## Unreleased\`: ${describe(change)}`];
  });
};

/** The text of the changelog on unreleased changes. */
export const entriesOf = (changelog: string, released: Versioned, { info: { version } }: Versioned): string => {
  const titles = version === released.info.version ? ['Unreleased'] : ['Unreleased', version];
  return titles
    .map((title) => sectionOf(changelog, title))
    .join('\n')
    .trim();
};

/** The least version of a document that differs from a released one. A changed description needs a patch. */
const versionAfter = (changes: readonly Change[], released: Versioned, entries: string): string => {
  const [major = 0, minor = 0, patch = 0] = numbersOf(released);
  if (breaking(changes, entries).length > 0) return `${major + 1}.0.0`;
  return changes.length > 0 ? `${major}.${minor + 1}.0` : `${major}.${minor}.${patch + 1}`;
};

/** The least version that the current document may have. */
export const leastVersion = (
  changes: readonly Change[],
  released: Versioned,
  current: Versioned,
  changelog: string,
): string =>
  isDeepStrictEqual(released, current)
    ? released.info.version
    : versionAfter(changes, released, entriesOf(changelog, released, current));

const isLower = (version: string, least: string): boolean => version.localeCompare(least, 'en', { numeric: true }) < 0;

/**
 * Why the changes since the last release cannot be published unchanged, in lines: none if they can.
 * @param changelog the text of CHANGELOG.md
 */
export const refusals = (
  changes: readonly Change[],
  released: Versioned,
  current: Versioned,
  changelog: string,
): string[] => {
  const entries = entriesOf(changelog, released, current);
  const { version } = current.info;
  const least = leastVersion(changes, released, current, changelog);
  return [
    ...(majorOf(current) > majorOf(released) ? [] : breaking(changes, entries)).map(
      (change) => `breaks callers, which only a new major version may: ${describe(change)}`,
    ),
    ...(changes.length > 0 ? untold(changes, entries) : []),
    ...(isLower(version, least)
      ? [
          `differs from the document of ${released.info.version} and has version ${version}: it must be ${least} or higher. Write it with: npm run -s release -- --next`,
        ]
      : []),
  ];
};
