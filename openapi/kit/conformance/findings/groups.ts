import type { Finding } from './finding.ts';

/** The place of a finding: the subject of a check, and its name. */
export interface FindingPlace {
  subject: string;
  name: string;
}

/** One fault, and all checks that show it. */
export interface FindingGroup {
  /** The finding of the first check. */
  finding: Finding;
  places: FindingPlace[];
}

const UUID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
const REQUEST_ID = /\bverify-[0-9a-f]{12}-[\w.]+/g;
const MARK = /\[verify [0-9a-f]{12}\]/g;
/** `"/extraInfo/downloads/0/url"`: the last member suffices, at any depth. */
const POINTER = /"(?:\/[^"/]*)*\/([^"/]*)"/g;
/** Numbers of things, as opposed to those of statuses. */
const NUMBER = /(?<!status |\w)[0-9]+\b/g;

/** A sentence without the parts that differ between records, requests or runs. */
const likeness = (text: string): string =>
  text
    .replaceAll(REQUEST_ID, '<request>')
    .replaceAll(MARK, '<mark>')
    .replaceAll(UUID, '<id>')
    .replaceAll(POINTER, '"/$1"')
    .replaceAll(NUMBER, '<n>');

/** The kind of value in a text. Names such as `GAME_NOT_FOUND`, and words that are not values, stay as they are. */
const kindOf = (text: string): string => {
  if (/^"[A-Z_]+"$/.test(text) || /^(?:null|true|false)$/.test(text)) return text;
  if (/^-?[0-9]/.test(text)) return 'a number';
  const [, opening = ''] = /^(["{[])/.exec(text) ?? [];
  return { '"': 'a text', '{': 'an object', '[': 'an array' }[opening] ?? likeness(text);
};

const NO_MEMBER = 'no such member';

/** The common key of findings with the same fault, for any record or operation. */
const keyOf = ({ expected, came, at, cause }: Finding): string => {
  if (cause !== undefined) return cause;
  if (at === undefined) return `${likeness(expected)}, ${likeness(came)}`;
  const member = at.split('/').findLast((name) => !/^(?:[0-9]*|\*)$/.test(name)) ?? '';
  return `${member}: ${kindOf(expected)}, ${expected === NO_MEMBER ? '' : kindOf(came)}`;
};

/** Findings by their fault, in the order of the checks. */
export const groupsOf = (results: readonly (FindingPlace & { findings: readonly Finding[] })[]): FindingGroup[] => {
  const groups = new Map<string, FindingGroup>();
  for (const { subject, name, findings } of results) {
    for (const finding of findings) {
      const key = keyOf(finding);
      const group = groups.get(key) ?? { finding, places: [] };
      groups.set(key, group);
      if (!group.places.some((place) => place.subject === subject && place.name === name)) {
        group.places.push({ subject, name });
      }
    }
  }
  return [...groups.values()];
};
