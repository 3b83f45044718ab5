// The search in the bar: over guides, operations and errors, by an index that came with the release.
const form = document.querySelector('.bar-search');
const field = form.querySelector('input');
const found = form.querySelector('.found');
const status = found.querySelector('p');
const list = found.querySelector('ul');
const root = new URL(form.dataset.root, location.href);
const MANY = 12;

/** Loads the library and the index once, when they are first needed. */
let loading;
const load = () =>
  (loading ??= Promise.all([
    import('./minisearch.js'),
    fetch(new URL('search.json', import.meta.url)).then((response) => response.json()),
  ]).then(([{ default: MiniSearch }, { options, index }]) => MiniSearch.loadJS(index, options)));

/** Guides as a whole come before their sections, and what is current before the changelog. */
const weightOf = (id) => {
  if (id.startsWith('guides/changelog')) return 0.3;
  return id.includes('#') ? 1 : 2;
};

const SETTINGS = {
  prefix: true,
  fuzzy: (term) => (term.length > 3 ? 0.2 : false),
  boost: { title: 4 },
  boostDocument: weightOf,
};

/** The entries that have all words or, where there is none, some of them. */
const entriesOf = (index, phrase) => {
  const all = index.search(phrase, { ...SETTINGS, combineWith: 'AND' });
  return all.length > 0 ? all : index.search(phrase, SETTINGS);
};

const itemOf = ({ id, title, context }) => {
  const [item, link, place] = ['li', 'a', 'span'].map((name) => document.createElement(name));
  link.href = new URL(id, root).href;
  link.textContent = title;
  place.textContent = context;
  link.append(place);
  item.append(link);
  return item;
};

const close = () => {
  found.hidden = true;
};

const search = async () => {
  const phrase = field.value.trim();
  if (phrase === '') {
    close();
    return;
  }
  found.hidden = false;
  let entries = [];
  try {
    entries = entriesOf(await load(), phrase);
    if (phrase !== field.value.trim()) return;
    status.textContent = entries.length === 0 ? `Nothing found for “${phrase}”.` : `${entries.length} found`;
  } catch {
    loading = undefined;
    status.textContent = 'The search did not load. Try again.';
  }
  list.replaceChildren(...entries.slice(0, MANY).map(itemOf));
};

form.hidden = false;
field.addEventListener('focus', () => void load().catch(() => (loading = undefined)));
field.addEventListener('input', () => void search());
form.addEventListener('submit', (event) => {
  event.preventDefault();
  void search().then(() => list.querySelector('a')?.click());
});
form.addEventListener('keydown', ({ key }) => {
  if (key !== 'Escape') return;
  close();
  field.focus();
});
form.addEventListener('focusout', ({ relatedTarget }) => {
  if (!form.contains(relatedTarget)) close();
});
list.addEventListener('click', close);
