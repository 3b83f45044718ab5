import { Content1763600000001 } from './0001-content.ts';

/** All migrations, oldest first. */
export const migrations = [Content1763600000001];
