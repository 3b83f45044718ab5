/** Where the tab remembers whose key is in use. */
const STORED = 'docs-key-owner';

const listed = (scopes) => (scopes.length === 0 ? 'no scopes' : scopes.join(', '));

const plain = (text) => text.replaceAll('`', '');

/** What the service says of a key: an object of `user.me`, or the payload of a failure. */
const ask = async (key) => {
  const response = await fetch('../api/trpc/user.me', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
    body: '{"json":{}}',
  });
  const { result, error } = await response.json();
  return { user: result?.data.json, failure: error?.json };
};

/**
 * Asks the service whether it knows a key.
 *
 * @returns `fault` if the service refuses the key, else whose key it is in `owner`; or the reason why that is not known
 */
export const check = async (key) => {
  try {
    const { user, failure } = await ask(key);
    if (user) return { owner: `Key of ${user.nickname}: ${listed(user.apiKey.scopes)}` };
    const { message, data } = failure;
    if (data.reason === 'SCOPE_MISSING')
      return { owner: `A key without user:read, so its user is not shown. ${plain(data.hint)}` };
    if (data.httpStatus === 401) return { fault: plain(`${message} ${data.hint}`) };
    return { owner: `A key that could not be checked: ${plain(message)}` };
  } catch {
    return { owner: 'A key that could not be checked: the service does not answer.' };
  }
};

export const ownerOfKey = () => sessionStorage.getItem(STORED) ?? 'A key';

export const noteOwner = (owner) => {
  if (owner === undefined) sessionStorage.removeItem(STORED);
  else sessionStorage.setItem(STORED, owner);
};
