/**
 * Sends writes of a transaction without waiting for the answers of those before, so that what is next is made ready while
 * the database is at work. They are done in their order. Waits until all have ended.
 * @throws what the first of them that failed met: those after it may have failed for that
 */
export const pipelined = async <T>(writes: readonly Promise<T>[]): Promise<T[]> => {
  const ends = await Promise.allSettled(writes);
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason;
    return end.value;
  });
};
