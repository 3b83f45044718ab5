/** The failed calls with a key, as `apiKey.calls` lists them; or in `fault` why they are not known. */
const ask = async (key) => {
  const response = await fetch('../api/trpc/apiKey.calls', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
    body: '{"json":{}}',
  });
  const { result, error } = await response.json();
  if (result === undefined) return { fault: `Not known: ${error.json.message}` };
  const { isRecorded, items } = result.data.json;
  return isRecorded ? { items } : { fault: 'This service does not record them.' };
};

/** The request id that the panel looks for when it opens. */
let firstSought = '';

/** Has the panel look for one call when it opens next. */
export const seekCall = (requestId) => {
  firstSought = requestId;
};

const takeSought = () => {
  const sought = firstSought;
  firstSought = '';
  return sought;
};

const place = ({ path, code }) => `${path} ${code}`;

/**
 * The panel of the calls with the key in use that failed: what was called, when, and why it was refused. A field finds those
 * of one request.
 */
export const failedCalls =
  ({ React: { createElement: h, useEffect, useId, useState } }) =>
  ({ authKey }) => {
    const id = useId();
    const [{ items = [], fault }, setAnswer] = useState({ fault: 'Loading …' });
    const [sought, setSought] = useState(takeSought);
    const load = () =>
      ask(authKey)
        .catch(() => ({ fault: 'Not known: the service does not answer.' }))
        .then(setAnswer);

    useEffect(() => {
      void load();
    }, [authKey]);

    const found = items.filter(({ requestId }) => requestId.includes(sought.trim()));
    const row = ({ requestId, operation, at, status, reason, issues }, index) =>
      h(
        'tr',
        { key: index },
        h('td', null, h('time', { dateTime: at }, new Date(at).toLocaleTimeString())),
        h('td', null, operation),
        h(
          'td',
          null,
          h('a', { href: `../errors#${reason}` }, `${status} ${reason}`),
          issues.length > 0 && h('span', { className: 'docs-places' }, issues.map(place).join(', ')),
        ),
        h('td', null, h('code', null, requestId)),
      );
    const table = h(
      'table',
      null,
      h(
        'thead',
        null,
        h('tr', null, ...['Time', 'Operation', 'Reason', 'Request'].map((text) => h('th', { key: text }, text))),
      ),
      h('tbody', null, found.map(row)),
    );
    const none = items.length > 0 ? 'None of these calls has this request id.' : 'None within a day.';
    return h(
      'section',
      { className: 'docs-calls', 'aria-labelledby': `${id}title` },
      h('h3', { id: `${id}title` }, 'Calls with this key that failed'),
      items.length > 0 &&
        h(
          'p',
          { className: 'docs-field' },
          h('label', { htmlFor: id }, 'Request id'),
          h('input', { id, type: 'search', value: sought, onChange: ({ target }) => setSought(target.value) }),
        ),
      h(
        'div',
        { className: 'docs-list', tabIndex: 0, role: 'region', 'aria-labelledby': `${id}title` },
        found.length > 0 ? table : h('p', { role: 'status' }, fault ?? none),
      ),
      h('button', { type: 'button', onClick: load }, 'Look again'),
    );
  };
