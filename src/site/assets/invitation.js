import { noteOwner } from './swagger/key-check.js';

// Uses the invitation that the address names after `#`, which browsers do not send, and shows the key.

const given = new URLSearchParams(location.hash.slice(1));
const token = given.get('token');
const form = document.querySelector('.invitation');
const field = form.querySelector('input');
const fault = form.querySelector('.fault');
const made = document.querySelector('.made');

/** First calls, each with the scope that it needs. */
const FIRST_CALLS = [
  ['content:write', 'game.create', { title: 'My first game', gameType: 'RPG', tagNames: ['first'] }],
  ['user:read', 'user.me', {}],
  [undefined, 'game.list', { limit: 3, page: 1 }],
];

const firstCall = (key, scopes) => {
  const [, id, input] = FIRST_CALLS.find(([scope]) => scope === undefined || scopes.includes(scope));
  return `curl ${new URL(`api/trpc/${id}`, location.href).href} \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify({ json: input })}'`;
};

const show = ({ id, nickname, key, scopes }) => {
  const [shown, call] = made.querySelectorAll('code');
  shown.textContent = key;
  call.textContent = firstCall(key, scopes);
  made.querySelector('.facts').textContent = `${nickname} is user ${id}. The key has ${scopes.join(', ')}.`;
  // Swagger UI reads the key from here: see swagger/key-storage.js.
  const ApiKey = { name: 'ApiKey', schema: { type: 'http', scheme: 'bearer' }, value: key };
  sessionStorage.setItem('authorized', JSON.stringify({ ApiKey }));
  noteOwner(`Key of ${nickname}: ${scopes.join(', ')}`);
  history.replaceState(history.state, '', location.pathname);
  form.hidden = true;
  made.hidden = false;
  made.focus();
};

/** Tells why there is no key, and lets the person try again if that may help. */
const refuse = ({ message, data }) => {
  const issue = data.issues?.[0];
  fault.textContent = issue ? `The name ${issue.message}.` : `${message} ${data.hint}`.replaceAll('`', '');
  if (issue) field.focus();
};

const submit = async (event) => {
  event.preventDefault();
  const button = form.querySelector('button');
  if (button.disabled) return;
  button.disabled = true;
  fault.textContent = '';
  try {
    const response = await fetch('invitation', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ json: { token, nickname: field.value.trim() } }),
    });
    const { result, error } = await response.json();
    if (result) show(result.data.json);
    else refuse(error.json);
  } catch {
    fault.textContent = 'The service does not answer. Try again.';
  } finally {
    button.disabled = false;
  }
};

// Another invitation was pasted into the address.
addEventListener('hashchange', () => location.reload());

if (token) {
  field.value = given.get('nickname') ?? '';
  form.hidden = false;
  form.addEventListener('submit', (event) => void submit(event));
  field.focus();
} else {
  document.querySelector('.lead').textContent = 'Open the whole address of an invitation to get a key. It works once.';
}
