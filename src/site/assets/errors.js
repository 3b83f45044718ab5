// Shows the reasons that have all the words typed into the field.
const form = document.querySelector('.filter');
const field = form.querySelector('input');
const count = form.querySelector('[role="status"]');
const reasons = [...document.querySelectorAll('.reason')];
const groups = [...document.querySelectorAll('.reasons')];
const links = new Map(
  [...document.querySelectorAll('.side a')].map((link) => [link.hash.slice(1), link.parentElement]),
);
const texts = new Map(reasons.map((reason) => [reason, reason.textContent.toLowerCase()]));

const filter = () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const reason of reasons) {
    const isShown = words.every((word) => texts.get(reason).includes(word));
    reason.hidden = !isShown;
    links.get(reason.id).hidden = !isShown;
    shown += Number(isShown);
  }
  for (const group of groups) group.hidden = !group.querySelector('.reason:not([hidden])');
  for (const list of document.querySelectorAll('.side ul')) {
    list.previousElementSibling.hidden = !list.querySelector('li:not([hidden])');
  }
  count.textContent = words.length === 0 ? '' : `${shown} of ${reasons.length} reasons`;
};

form.hidden = false;
form.addEventListener('submit', (event) => event.preventDefault());
field.addEventListener('input', filter);
// A link leads to its reason, whatever is typed.
addEventListener('hashchange', () => {
  if (!document.getElementById(location.hash.slice(1))?.hidden) return;
  field.value = '';
  filter();
  document.getElementById(location.hash.slice(1)).scrollIntoView();
});
