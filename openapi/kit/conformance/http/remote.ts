import { holdsKey } from '../../../../contract/index.ts';

const MIB = 1024 * 1024;
/** The most bytes to read of a file or an answer from another host, inflated: thirty times the document. */
export const READ_LIMIT = 32 * MIB;

/** The text in UTF-8 chunks, up to a limit. @throws Error */
export const boundedText = async (chunks: AsyncIterable<Uint8Array>, limit = READ_LIMIT): Promise<string> => {
  const taken: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > limit) throw new Error(`it has more than ${limit / MIB} MiB`);
    taken.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(taken));
};

/** The target of a redirect, in words; undefined for other replies. A server may have put the request's key there. */
export const redirectOf = (address: string, status: number, location?: string | null): string | undefined => {
  if (status < 300 || status > 399 || typeof location !== 'string') return undefined;
  if (!URL.canParse(location, address)) return 'it redirects to no URL';
  const { protocol, host, pathname } = new URL(location, address);
  const target = `${protocol}//${host}${pathname}`;
  return `it redirects to ${holdsKey(target) ? 'an address with a key in it' : target}, which is not followed`;
};

/** Why no answer arrived, in words. */
export const faultOf = (error: unknown, timeoutMs: number): string => {
  const { name, message, cause } = error as Error & { cause?: NodeJS.ErrnoException };
  if (name === 'TimeoutError') return `it took more than ${timeoutMs / 1000} s`;
  return cause?.message || cause?.code || message;
};

/**
 * Sends a request to a server, and does not follow redirects: the key and the body are only for this server. It gives
 * up after a while, or after too many bytes. @throws Error that says why no answer came
 */
export const ask = async (
  address: string,
  timeoutMs: number,
  request: RequestInit = {},
): Promise<{ status: number; isOk: boolean; text: string }> => {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const { status, ok: isOk, headers, body } = await fetch(address, { ...request, redirect: 'manual', signal });
    const redirect = redirectOf(address, status, headers.get('location'));
    if (redirect !== undefined) {
      await body?.cancel();
      throw new Error(redirect);
    }
    return { status, isOk, text: body ? await boundedText(body) : '' };
  } catch (error) {
    throw new Error(faultOf(error, timeoutMs), { cause: error });
  }
};
