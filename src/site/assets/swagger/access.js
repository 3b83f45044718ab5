/**
 * What a badge says of who may call an operation: `public`, or the scopes that a key needs.
 *
 * @param security the `security` of an operation, a list of alternatives (Immutable)
 * @param required its `x-required-scopes`, where a document of OpenAPI 3.0 has the scopes
 * @returns such as `['scope content:write']`
 */
export const badgesOf = (security, required) => {
  if (!security || security.isEmpty() || security.some((alternative) => alternative.isEmpty())) return ['public'];
  const scopes = security.flatMap((alternative) => alternative.valueSeq().flatten()).toSet();
  const all = scopes.union(required ?? []);
  return all.isEmpty() ? ['any key'] : all.toArray().map((scope) => `scope ${scope}`);
};
