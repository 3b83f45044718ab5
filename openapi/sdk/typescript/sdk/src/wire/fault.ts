/** What kept a reply from coming, as far as it can be told. */
export interface ConnectionFault {
  /** In words. */
  readonly text: string;
  /** Whether connecting took too long. */
  readonly isConnectTimeout: boolean;
  /** Whether another attempt would end the same: the certificate is not trusted, or the proxy wants a password. */
  readonly isFinal: boolean;
}

const FINAL = /CERT|SELF_SIGNED|ISSUER|LEAF_SIGNATURE|CRL|INVALID_CA|INVALID_PURPOSE/;
const PROXY_WANTS_PASSWORD = /^Proxy .*\(407\)/;

/** An error and those it was caused by; the first of each group. */
const chainOf = (error: unknown): Error[] => {
  if (!(error instanceof Error)) return [];
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  return [error, ...chainOf(inner)];
};

const codeOf = (error: Error & { code?: unknown }): string => (typeof error.code === 'string' ? error.code : '');

/** Reads what `fetch` rejected with: on Node.js, the cause of the cause says it. */
export const connectionFaultOf = (error: unknown): ConnectionFault => {
  const chain = chainOf(error);
  const codes = chain.map(codeOf);
  const innermost = chain.findLast(({ message }) => message !== '');
  const text = innermost?.message ?? String(error);
  return {
    text,
    isConnectTimeout: codes.includes('UND_ERR_CONNECT_TIMEOUT'),
    isFinal: codes.some((code) => FINAL.test(code)) || PROXY_WANTS_PASSWORD.test(text),
  };
};
