/** A change of the document as oasdiff tells it. */
export interface Change {
  /** In words, with names in backticks: a member by its path, such as `json/games/items/title`. */
  text: string;
  /** 1: compatible, 2: it may break callers, 3: it breaks callers. */
  level: 1 | 2 | 3;
  /** The operation that changed, if it is one operation that did. */
  operationId?: string;
}

/** A document, as far as its version goes. */
interface Versioned {
  info: { version: string };
}

const majorOf = ({ info }: Versioned): number => Number.parseInt(info.version, 10);

const describe = ({ operationId, text }: Change): string => (operationId ? `${operationId}: ${text}` : text);

/** What the changelog must name: the member that a change is about, else the operation. */
const subjectOf = ({ operationId, text }: Change): string | undefined => {
  const [, path] = /`([^`\s]+\/[^`\s]+)`/.exec(text) ?? [];
  return path?.split('/').findLast((part) => part !== '' && part !== 'items') ?? operationId;
};

/** What the changelog says below the heading `## <title>`: nothing if it has none. */
const sectionOf = (changelog: string, title: string): string => {
  const sections = changelog.split(/^## /m).slice(1);
  return sections.find((section) => section.split('\n', 1)[0]?.trim() === title)?.slice(title.length) ?? '';
};

/** Whether a text has a name as a word, or at the end of a longer one, as in `GameSummary.title`. */
const isNamed = (subject: string, text: string): boolean =>
  text.split(/[^\w.-]+|\.(?=\s|$)/).some((word) => word === subject || word.endsWith(`.${subject}`));

const breaking = (changes: readonly Change[], released: Versioned, current: Versioned): string[] => {
  if (majorOf(current) > majorOf(released)) return [];
  return changes
    .filter(({ level }) => level > 1)
    .map((change) => `breaks callers, which only a new major version may: ${describe(change)}`);
};

const untold = (changes: readonly Change[], released: Versioned, current: Versioned, changelog: string): string[] => {
  const { version } = current.info;
  const titles = version === released.info.version ? ['Unreleased'] : ['Unreleased', version];
  const entries = titles
    .map((title) => sectionOf(changelog, title))
    .join('\n')
    .trim();
  if (entries === '') return ['CHANGELOG.md must tell what changed, under `## Unreleased`'];
  return changes.flatMap((change) => {
    const subject = subjectOf(change);
    return subject === undefined || isNamed(subject, entries)
      ? []
      : [`CHANGELOG.md must name \`${subject}\` under \`## Unreleased\`: ${describe(change)}`];
  });
};

/**
 * Why the changes since the last release cannot be published as they are, in lines: none if they can.
 * @param changelog the text of CHANGELOG.md
 */
export const refusals = (
  changes: readonly Change[],
  released: Versioned,
  current: Versioned,
  changelog: string,
): string[] =>
  changes.length === 0
    ? []
    : [...breaking(changes, released, current), ...untold(changes, released, current, changelog)];
