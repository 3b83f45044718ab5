import { Content1763600000001 } from './0001-content.ts';
import { TagIds1763700000002 } from './0002-tag-ids.ts';

/** All migrations, oldest first. */
export const migrations = [Content1763600000001, TagIds1763700000002];
