import { type Anomaly, creationsIn, type Entry } from './history.ts';
import { grouped, isOf } from './moments.ts';

/** Whether a call reads a replica, where there is one: calls without a key do. */
const readsReplica = ({ user, operation }: Entry): boolean =>
  user === '' && ['getById', 'list', 'getRelated', 'getTypeStats'].includes(operation.split('.')[1] ?? '');

/** An entry as if its answer was lost, if it may be that of a replica: a view was counted all the same. */
export const withoutReplica = (entry: Entry): Entry =>
  readsReplica(entry)
    ? {
        ...entry,
        outcome: entry.outcome === 'refused' ? 'refused' : 'unknown',
        reason: 'of a replica',
        output: undefined,
        items: undefined,
        walked: undefined,
      }
    : entry;

/** A replica may lack the latest writes, and shows none that nobody made: each title is one that was written before. */
export const replicasShowWhatWas = (history: readonly Entry[]): Anomaly[] => {
  const changes = history.filter((entry) => isOf(entry, 'update') && entry.outcome !== 'refused');
  const titles = grouped([...history.flatMap(creationsIn), ...changes], ({ record }) => record);
  return history.filter(readsReplica).flatMap((read) => {
    const { record = '', output } = read;
    if (output?.title === undefined) return [];
    const written = (titles.get(record) ?? []).filter(({ call }) => call < read.return);
    return written.some(({ input }) => input['title'] === output.title)
      ? []
      : [{ check: 'replicas show what was', found: 'was never so', entries: [read, ...written] }];
  });
};
