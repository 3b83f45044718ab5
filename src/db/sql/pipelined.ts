/**
 * Awaits writes of a transaction that were sent without waiting for each other's answers, so that the next is prepared while
 * the database works. The database runs them in order. Settles when all have ended.
 * @throws the error of the first failed write; later ones may have failed because of it
 */
export const pipelined = async <T>(writes: readonly Promise<T>[]): Promise<T[]> => {
  const ends = await Promise.allSettled(writes);
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason;
    return end.value;
  });
};
