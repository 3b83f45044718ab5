/** Calls a procedure of a gateway with an input, and with a key if there is one. Returns the response. */
export const postCall = (url, id, input, key) =>
  fetch(`${url}/api/trpc/${id}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(key && { Authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ json: input }),
  });
