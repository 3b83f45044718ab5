const QUOTES = /^["'`“”‘’]+|["'`“”‘’]+$/g;

/**
 * The key in what somebody pasted: without white space, quotes, the name of the header and `Bearer` around it.
 *
 * @param text such as `Authorization: "Bearer cgk_…"`
 */
export const keyIn = (text) => {
  let key = text;
  for (let before; before !== key;) {
    before = key;
    key = key
      .trim()
      .replace(QUOTES, '')
      .replace(/^authorization\s*:/i, '')
      .replace(/^bearer(?:\s+|$)/i, '');
  }
  return key;
};

/**
 * What is wrong with a key, without a word of the key itself; undefined if it has the form.
 *
 * @param key as `keyIn` answers it
 * @param format the regular expression that a whole key matches
 */
export const faultOf = (key, format) => {
  if (key === '') return 'There is no key in this.';
  if (new RegExp(`^(?:${format})$`).test(key)) return undefined;
  const prefix = /^[A-Za-z]+_/.exec(format)?.[0];
  if (/\s/.test(key)) return 'A key has no white space in it.';
  if (prefix !== undefined && !key.startsWith(prefix)) return `A key begins with ${prefix}. This does not.`;
  const length = Number(/\{(\d+)\}$/.exec(format)?.[1]) + (prefix?.length ?? 0);
  if (key.length !== length && length > 0) return `A key has ${length} characters. This has ${key.length}.`;
  return 'A key is made of letters and digits only. This has other characters in it.';
};
