// What Redoc leaves out for those who use the keyboard or a screen reader.

/** What scrolls by itself, and so must be reached by the keyboard. */
const SCROLLING = 'pre, .md-table-wrapper';

const name = (element, attributes) => {
  for (const [attribute, value] of Object.entries(attributes)) {
    if (element.getAttribute(attribute) !== value) element.setAttribute(attribute, value);
  }
};

/** The roles and names that are missing, by the elements that lack them. */
const MISSING = {
  [SCROLLING]: { tabindex: '0' },
  '[data-testid="search-trigger"]': { role: 'button', tabindex: '0' },
  '[data-testid="search-dialog"]': { role: 'dialog', 'aria-modal': 'true', 'aria-label': 'Search' },
  '[data-testid="search-dialog"] input': { 'aria-label': 'Search' },
  '[data-testid="floating-button"]': { role: 'button', tabindex: '0', 'aria-label': 'Menu' },
};

const mend = () => {
  for (const [selector, attributes] of Object.entries(MISSING)) {
    for (const element of document.querySelectorAll(selector)) name(element, attributes);
  }
};

/** Enter and the space bar press what is no button of the browser's own. */
const press = (event) => {
  const isButton = event.target.matches?.('div[role="button"][data-testid]');
  if (!isButton || (event.key !== 'Enter' && event.key !== ' ')) return;
  event.preventDefault();
  event.target.click();
};

/** Keeps Redoc, which draws in `root`, reachable, whatever is drawn there later. */
export const makeReachable = (root) => {
  mend();
  // The search opens outside of the element.
  new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
  document.addEventListener('keydown', press);

  // Redoc takes each fragment for the path of an operation.
  document.querySelector('.skip').addEventListener('click', (event) => {
    event.preventDefault();
    const content = root.querySelector('h1, h2');
    content.tabIndex = -1;
    content.focus();
  });
};
