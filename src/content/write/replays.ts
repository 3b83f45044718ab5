import type { IdempotentCall, ShownRows } from '../../auth/idempotency/call.ts';
import type { ContentKind } from '../kind.ts';

/** The answer of a call that published records, as far as it is read here. */
interface Answer {
  result: { data: { json: { id: string } | { items: { id: string }[] } } };
}

/** The records of a kind in the answer of a call that published them. */
export const publishedRows = ({ table }: ContentKind): ShownRows => ({
  table,
  idsIn: (answer) => {
    const { json } = (JSON.parse(answer) as Answer).result.data;
    return 'items' in json ? json.items.map(({ id }) => id) : [json.id];
  },
  gone: 'IDEMPOTENCY_GONE',
});

/** A call, if it is idempotent, whose answer is not repeated once a row that it shows was hidden or deleted. */
export const showing = (call: IdempotentCall | undefined, shown: ShownRows): IdempotentCall | undefined =>
  call && { ...call, shown };
