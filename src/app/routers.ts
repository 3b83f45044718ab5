import type { Logger } from 'pino';
import { type Quota, quotaOf as userQuota } from '../auth/quotas.ts';
import type { Caller } from '../auth/verifier.ts';
import { Writes } from '../auth/idempotency/writes.ts';
import type { ContentContext } from '../content/service.ts';
import { Toggles } from '../content/engagement/service.ts';
import type { ContentKind } from '../content/kind.ts';
import { ContentReads } from '../content/read/reads.ts';
import { readShown } from '../content/records.ts';
import { TagDictionary } from '../content/tag/dictionary.ts';
import { findTags } from '../content/tag/service.ts';
import { Publisher } from '../content/write/publisher.ts';
import { ViewCounts } from '../content/write/view-counts.ts';
import type { Database } from '../db/database.ts';
import { eventReads } from '../event/reads.ts';
import type { EventContext } from '../event/service.ts';
import { gameKind } from '../game/kind.ts';
import { gameSummaryView } from '../game/view.ts';
import { imageKind } from '../image/kind.ts';
import { imagePostSummaryView } from '../image/view.ts';
import type { Limits } from '../limits/rate-limit/limits.ts';
import type { Maintenance } from '../rpc/maintenance/maintenance.ts';
import type { Routers } from '../rpc/procedures.ts';
import { SearchIndex } from '../search/search-index.ts';
import { profileReads, readUsers } from '../user/reads.ts';
import { userSummaryView } from '../user/view.ts';

/** The functions by which events read their records. */
const recordsOfEvents: EventContext['readShown'] = {
  game: (reader, ids) => readShown(reader, gameKind, ids, gameSummaryView),
  image: (reader, ids) => readShown(reader, imageKind, ids, imagePostSummaryView),
  user: async (reader, ids) =>
    new Map(Array.from(await readUsers(reader, ids), ([id, user]) => [id, userSummaryView(user)])),
  tag: async (reader, slugs) =>
    new Map(Array.from(await findTags(reader, slugs), ([sought, { name, slug }]) => [sought, { name, slug }])),
};

interface RouterSources {
  db: Database;
  now: () => Date;
  log: Logger;
  limits: Limits | undefined;
  maintenance: Maintenance;
}

/** Makes the dependencies of each router's handlers. */
export const openRouters = (
  { db, now, log, limits, maintenance }: RouterSources,
  { uses, webhook }: Pick<Routers['apiKey'], 'uses'> & { webhook: Omit<Routers['webhook'], 'db' | 'now' | 'writes'> },
): Routers => {
  const tags = new TagDictionary(db);
  const search = new SearchIndex(db);
  const writes = new Writes(db, now);
  const quotaOf = (caller: Caller): Quota | undefined => limits && userQuota(caller, now());
  const publisher = new Publisher(db, writes, now, quotaOf);
  const toggles = new Toggles(db, writes, now);
  const contentOf = <Summary extends object, Detail extends Summary>(
    kind: ContentKind,
  ): ContentContext<Summary, Detail> => ({
    db,
    now,
    tags,
    writes,
    publisher,
    toggles,
    quotaOf,
    kind,
    reads: new ContentReads(db, tags, search, kind),
    views: new ViewCounts(db.background, log, kind, { first: limits?.firstViews, pause: maintenance }),
  });
  return {
    game: contentOf(gameKind),
    image: contentOf(imageKind),
    user: { db, now, profiles: profileReads(db), search, writes },
    event: { db, now, events: eventReads(db), readShown: recordsOfEvents },
    webhook: { db, now, writes, ...webhook },
    apiKey: { db, now, writes, uses },
    consumerContract: { db, now, writes },
  };
};
