import { showSection } from './navigation.js';

/** Notes in the history where the page is scrolled to, before a click adds an address to it. */
const notePosition = () => history.replaceState({ ...history.state, scrollY }, '');

/**
 * Shows the operation of a changed address: after the back button where the page was scrolled to then, after a link at its
 * top. By the action itself, since `layoutActions.show` would add the address to the history once more.
 */
const followAddress = ({ layoutSelectors, layoutActions, getStore }) => {
  const [tag, id] = decodeURIComponent(location.hash).replace(/^#\/?/, '').split('/');
  const position = history.state?.scrollY;
  if (!tag) {
    scrollTo(0, position ?? 0);
    return;
  }
  if (tag === 'about') {
    if (position === undefined) showSection();
    else requestAnimationFrame(() => scrollTo(0, position));
    return;
  }
  const show = (thing) => getStore().dispatch({ type: 'layout_show', payload: { thing, shown: true } });
  show(layoutSelectors.isShownKeyFromUrlHashArray([tag]));
  const key = layoutSelectors.isShownKeyFromUrlHashArray([tag, id]);
  show(key);
  const operation = document.getElementById(CSS.escape(key.join('-')));
  if (!operation) {
    // The filter hides it. Swagger UI scrolls to it once it is there.
    layoutActions.scrollTo(key);
    layoutActions.updateFilter(true);
  } else if (position === undefined) operation.scrollIntoView();
  else requestAnimationFrame(() => scrollTo(0, position));
};

/** Puts Swagger UI in the place of the list that the page came with; a link that had the focus hands it on. */
const replaceIndex = () => {
  const index = document.getElementById('docs-index');
  const id = document.activeElement?.closest('[data-operation]')?.dataset.operation;
  index?.remove();
  if (id) document.querySelector(`[data-path$="/${id}"]`)?.closest('button').focus();
};

/** The page once the document is there. */
const content =
  ({ React: { createElement: h, useLayoutEffect } }) =>
  ({ specSelectors, getComponent }) => {
    useLayoutEffect(replaceIndex, []);
    const Errors = getComponent('errors', true);
    const Navigation = getComponent('DocsNavigation', true);
    const Filter = getComponent('DocsFilter', true);
    const Authorize = getComponent('AuthorizeBtnContainer', true);
    const Servers = getComponent('ServersContainer', true);
    const Operations = getComponent('operations', true);
    const Webhooks = getComponent('Webhooks', true);
    const Models = getComponent('Models', true);
    const Markdown = getComponent('Markdown', true);
    const isEmpty = specSelectors.taggedOperations().isEmpty();
    return h(
      'div',
      { className: 'swagger-ui docs-columns' },
      // First, so that the keyboard reaches them before the many links.
      h('div', { className: 'docs-tools' }, h(Filter), h(Authorize)),
      h(Navigation),
      h(
        'div',
        { className: 'docs-content' },
        h(Errors),
        h(
          'details',
          { className: 'docs-about' },
          h('summary', null, 'About this API: requests, replies, keys, paging, limits'),
          h(Markdown, { source: specSelectors.info().get('description') }),
        ),
        specSelectors.servers().size > 1 && h(Servers),
        !isEmpty && h('div', { id: 'operations' }, h(Operations)),
        !isEmpty && h(Webhooks),
        !isEmpty && h(Models),
      ),
    );
  };

const layout =
  ({ React: { createElement: h } }) =>
  ({ specSelectors, getComponent }) => {
    const status = specSelectors.loadingStatus();
    if (status === 'success') return h(getComponent('DocsContent', true));
    if (status !== 'failed' && status !== 'failedConfig') return null;
    return h(
      'div',
      { className: 'swagger-ui' },
      h('p', { role: 'status', className: 'docs-status' }, 'The document did not load.'),
      h(getComponent('errors', true)),
    );
  };

/** The page below its heading: what was `BaseLayout`, whose own heading and landmarks do not fit into a page of ours. */
export const layoutPlugin = (system) => ({
  components: { DocsLayout: layout(system), DocsContent: content(system) },
  statePlugins: {
    // The operation of the first address, while the page still grows around it, which ends a smooth scroll before it has begun.
    layout: { wrapActions: { scrollToElement: () => (element) => element.scrollIntoView({ behavior: 'instant' }) } },
    configs: {
      wrapActions: {
        loaded:
          (original, { getSystem }) =>
          (...args) => {
            original(...args);
            document.addEventListener('click', notePosition, { capture: true });
            window.addEventListener('hashchange', () => followAddress(getSystem()));
          },
      },
    },
  },
});
