// Shows the reasons that have all the words typed into the field, and opens the one that the address names.
const form = document.querySelector('.filter');
const field = form.querySelector('input');
const count = form.querySelector('[role="status"]');
const reasons = [...document.querySelectorAll('.reason')];
const groups = [...document.querySelectorAll('.reasons')];
const links = new Map(
  [...document.querySelectorAll('.side a')].map((link) => [link.hash.slice(1), link.parentElement]),
);
const texts = new Map(reasons.map((reason) => [reason, reason.textContent.toLowerCase()]));

/** As many open by themselves as fit on a screen. */
const FEW = 2;

const filter = () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const reason of reasons) {
    const isShown = words.every((word) => texts.get(reason).includes(word));
    reason.hidden = !isShown;
    links.get(reason.id).hidden = !isShown;
    shown += Number(isShown);
  }
  if (words.length > 0 && shown <= FEW)
    for (const { hidden, firstElementChild } of reasons) firstElementChild.open ||= !hidden;
  for (const group of groups) group.hidden = !group.querySelector('.reason:not([hidden])');
  for (const list of document.querySelectorAll('.side ul')) {
    list.previousElementSibling.hidden = !list.querySelector('li:not([hidden])');
  }
  count.textContent = words.length === 0 ? '' : `${shown} of ${reasons.length} reasons`;
};

form.hidden = false;
form.addEventListener('submit', (event) => event.preventDefault());
field.addEventListener('input', filter);
/** A link leads to its reason, whatever is typed. */
const openNamed = () => {
  const named = document.getElementById(location.hash.slice(1));
  if (!named?.matches('.reason')) return;
  if (named.hidden) {
    field.value = '';
    filter();
  }
  named.firstElementChild.open = true;
  named.scrollIntoView();
};
addEventListener('hashchange', openNamed);
openNamed();
