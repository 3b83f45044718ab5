import type { SearchKind } from '../search/document.ts';

/** How search sees users: by their nicknames. */
export const userSearch: SearchKind = { code: 3, table: 'users', hasTerms: false };
