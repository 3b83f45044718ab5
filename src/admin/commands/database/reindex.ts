import { counted } from '../../../../contract/text.ts';
import { currentTime } from '../../../base/runtime.ts';
import { record, systemActor } from '../../../auth/audit/log.ts';
import { databaseCommand } from '../shared/command.ts';
import { print } from '../shared/output.ts';
import { withProgress } from '../shared/progress.ts';

export const reindexCommand = databaseCommand({
  summary: 'rebuild the search index',
  description:
    'Rebuilds the search index of games, image posts and users from the stored records. Safe while the service runs: ' +
    'it uses the old index until the new one is complete. Waits for a service that is indexing.',
  examples: [''],
  run: async (db) => {
    // `withConnection` has loaded most of this already.
    const [{ searchKinds }, { Indexer }, { countDocuments }] = await Promise.all([
      import('../../../app/schema.ts'),
      import('../../../search/indexing/indexer.ts'),
      import('../../../search/indexing/check.ts'),
    ]);
    const indexer = new Indexer(db, searchKinds);
    const began = currentTime();
    const records = await countDocuments(db, searchKinds);
    await withProgress(
      records,
      async (onIndexed) => {
        for (const kind of searchKinds) await indexer.reindex(kind, onIndexed);
      },
      'records',
    );
    await db.transaction((tx) =>
      record(tx, systemActor(), { action: 'reindex', subject: 'the search index', after: { records } }),
    );
    print(`Indexed ${counted(records, 'record')} in ${((currentTime() - began) / 1000).toFixed(1)} s.`);
  },
});
