import type { Change } from '../document/compare.ts';
import { differenceOf } from '../findings/finding.ts';
import { groupsOf } from '../findings/groups.ts';
import { shownBy } from './text.ts';

/** Two lines for each change that breaks no client: what is other, and where. */
export const changeLines = (changes: readonly Change[]): string[] => {
  const additive = changes.filter(({ breaks }) => !breaks);
  const places = additive.map(({ operation, where, expected, came }) => ({
    subject: operation,
    name: where,
    findings: [{ expected, came, at: where }],
  }));
  return groupsOf(places).flatMap((group) => [
    `NOTE ${differenceOf(group.finding)}`,
    `  in ${shownBy(group.places, 'place')}`,
  ]);
};
