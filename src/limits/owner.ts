/** An address longer than any there is would be a proxy's invention. */
const LONGEST_ADDRESS = 64;
const MAPPED = '::ffff:';
const GROUPS = 8;

/** The groups of an IPv6 address, an IPv4 address at its end as two. */
const groupsOf = (part: string): string[] => (part === '' ? [] : part.replace(/\d+\.\d+\.\d+\.\d+$/, '0:0').split(':'));

/**
 * What is one household as far as addresses tell: an IPv4 address, or the first 64 bits of an IPv6 address, of which each
 * network has as many as it likes below.
 */
export const networkOf = (address: string): string => {
  if (!address.includes(':')) return address.slice(0, LONGEST_ADDRESS);
  if (address.startsWith(MAPPED) && address.includes('.')) return address.slice(MAPPED.length);
  const [plain = ''] = address.slice(0, LONGEST_ADDRESS).split('%', 1);
  const [before = '', after] = plain.split('::');
  const [first, last] = [groupsOf(before), groupsOf(after ?? '')];
  const zeros = Array<string>(Math.max(0, GROUPS - first.length - last.length)).fill('0');
  const groups = after === undefined ? first : [...first, ...zeros, ...last];
  return `${groups
    .slice(0, GROUPS / 2)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
};
