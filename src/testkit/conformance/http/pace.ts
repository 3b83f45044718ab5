/** One item of `RateLimit-Policy`: `"anonymous";q=600;w=60`. */
const POLICY = /"([^"]+)";q=(\d+);w=(\d+)/g;
/** `"anonymous";r=0;t=60` */
const LEFT = /^"([^"]+)";r=(\d+);t=\d+/;

const MS = 1000;

/**
 * The milliseconds until a caller without quota may send one more request, by the headers of a reply
 * (draft-ietf-httpapi-ratelimit-headers); 0 where some quota is left, or where the reply does not say.
 */
export const paceOf = (headers: Headers): number => {
  const [, name, left] = LEFT.exec(headers.get('ratelimit') ?? '') ?? [];
  if (name === undefined || Number(left) > 0) return 0;
  const policies = (headers.get('ratelimit-policy') ?? '').matchAll(POLICY);
  const [, , quota, seconds] = [...policies].find(([, one]) => one === name) ?? [];
  return quota === undefined ? 0 : (Number(seconds) * MS) / Number(quota);
};
