import type { Contract, OutputOf } from '../../contract/index.ts';
import type { FailedCall } from './entity.ts';
import type { ConsumerUse, OperationUse, PartUse } from './use/store.ts';

type Router = Contract['apiKey'];

const partView = ({ name, lastDay, deprecated }: PartUse) => ({ name, lastDay, isDeprecated: deprecated === true });

const operationView = ({ operation, lastDay, deprecated, parts }: OperationUse) => ({
  operation,
  lastDay,
  isDeprecated: deprecated === true,
  parts: parts.map(partView),
});

/** The uses of a key; undefined where nothing is recorded. */
export const usageView = (
  uses: Pick<ConsumerUse, 'clients' | 'operations'> | undefined,
): OutputOf<Router['usage']> => ({
  isRecorded: uses !== undefined,
  clients: uses?.clients.map(partView) ?? [],
  operations: uses?.operations.map(operationView) ?? [],
});

/** Failed calls with a key; undefined where nothing is recorded. */
export const callsView = (calls: FailedCall[] | undefined): OutputOf<Router['calls']> => ({
  isRecorded: calls !== undefined,
  items: calls ?? [],
});
