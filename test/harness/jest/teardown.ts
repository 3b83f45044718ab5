/** Stops what the setups of a Jest run have started. */
export default async () => {
  await Promise.all((globalThis.TEST_SERVERS ?? []).map((server) => server.stop()));
};
