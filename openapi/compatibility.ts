import { isDeepStrictEqual } from 'node:util';

/** A change of the document as oasdiff tells it. */
export interface Change {
  /** The rule that found it. */
  id: string;
  /** In words, with names in backticks: a member by its path, such as `json/games/items/title`. */
  text: string;
  /** 1: compatible, 2: it may break callers, 3: it breaks callers. */
  level: 1 | 2 | 3;
  /** The operation that changed, if it is one operation that did. */
  operationId?: string;
}

/** A document, as far as its version goes. */
export interface Versioned {
  info: { version: string };
}

/** A stricter pattern may close a security hole: it needs no major version, but an entry in the changelog. */
const PATTERN_OF_INPUT = 'request-property-pattern-changed';
const SECURITY = '### Security';
const unescaped = (pattern = ''): string =>
  pattern.replaceAll(/\\u([0-9a-f]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

/** Whether a pattern of an input is only written with other escapes. */
export const isSamePattern = ({ id, text }: Change): boolean => {
  const [, from, to] = / from `(.*)` to `(.*)`$/su.exec(text) ?? [];
  return id === PATTERN_OF_INPUT && from !== undefined && unescaped(from) === unescaped(to);
};

/** A new scope reaches only callers whose keys are issued with it: it needs no major version, but an entry in the changelog. */
const VALUE_OF_REPLY = 'response-property-enum-value-added';
const SCOPES = '/apiKey/scopes/items/';

/** Demands on a condition; where something was always demanded before, they loosen. */
const CONDITIONS = new Set(['request-property-if-added', 'request-property-else-added']);
const NO_LONGER_DEMANDED = 'request-property-became-optional';

const numbersOf = ({ info }: Versioned): number[] => info.version.split('.').map(Number);
const majorOf = ({ info }: Versioned): number => Number.parseInt(info.version, 10);

const describe = ({ operationId, text }: Change): string => (operationId ? `${operationId}: ${text}` : text);

/** Parts of a path that name no member. */
const BETWEEN = new Set(['', 'items', 'additionalProperties']);

/** The name that the changelog must contain: the changed header or member, else the operation. */
const subjectOf = ({ operationId, text }: Change): string | undefined => {
  const [, header] = /\bheader `([^`\s]+)`/.exec(text) ?? [];
  if (header !== undefined) return header;
  const [, path] = /`([^`\s]+\/[^`\s]+)`/.exec(text) ?? [];
  return path?.split('/').findLast((part) => !BETWEEN.has(part)) ?? operationId;
};

/** The text of the changelog below the heading `## <title>`, with the date or without; empty without one. */
const sectionOf = (changelog: string, title: string): string => {
  const sections = changelog.split(/^## /m).slice(1);
  return sections.find((section) => section.split(/\n| \(/, 1)[0]?.trim() === title)?.slice(title.length) ?? '';
};

/** Whether a text has a name as a word, or at the end of a longer one, as in `GameSummary.title`. Headers have no case. */
export const isNamed = (subject: string, text: string): boolean =>
  text
    .split(/[^\w.-]+|\.(?=\s|$)/)
    .some((word) => word.toLowerCase() === subject.toLowerCase() || word.endsWith(`.${subject}`));

const isToldAsSecurity = (change: Change, entries: string): boolean => {
  const [, told = ''] = entries.split(SECURITY);
  return change.id === PATTERN_OF_INPUT && isNamed(subjectOf(change) ?? '', told);
};

const isToldAsScope = ({ id, text }: Change, entries: string): boolean =>
  id === VALUE_OF_REPLY && text.includes(SCOPES) && isNamed('scope', entries);

/** Whether a condition took the place of a demand: the same operation has a member less that must always be there. */
const isLoosened = ({ id, operationId }: Change, changes: readonly Change[]): boolean =>
  CONDITIONS.has(id) && changes.some((one) => one.id === NO_LONGER_DEMANDED && one.operationId === operationId);

const breaking = (changes: readonly Change[], entries: string): Change[] =>
  changes
    .filter((change) => change.level > 1 && !isToldAsSecurity(change, entries) && !isToldAsScope(change, entries))
    .filter((change) => !isLoosened(change, changes));

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

/** The least version of a document that differs from a released one. A changed description takes a patch. */
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
 * Why the changes since the last release cannot be published as they are, in lines: none if they can.
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
