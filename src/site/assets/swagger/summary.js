import { badgesOf } from './access.js';

const summary =
  ({ React: { createElement: h } }) =>
  ({ operationProps, isShown, toggleShown, getComponent }) => {
    const { path, method, op, summary: text, security, operationId, tag, deprecated } = operationProps.toObject();
    const Arrow = getComponent(isShown ? 'ArrowUpIcon' : 'ArrowDownIcon');
    // A message to webhooks has no path, only a name that its id ends with.
    const isCall = path.startsWith('/');
    const prefix = isCall ? path.slice(0, -operationId.length) : '';
    return h(
      'div',
      { className: 'opblock-summary' },
      h(
        'h3',
        null,
        h(
          'button',
          { type: 'button', 'aria-expanded': isShown, className: 'opblock-summary-control', onClick: toggleShown },
          h('span', { className: 'op-method' }, method.toUpperCase()),
          h(
            'span',
            { className: 'op-path', 'data-path': path },
            h('span', { className: 'op-prefix' }, prefix),
            operationId,
          ),
          h('span', { className: 'op-text' }, text),
          deprecated && h('span', { className: 'op-badge' }, 'deprecated'),
          isCall &&
            badgesOf(security, op.get('x-required-scopes')).map((badge) =>
              h('span', { key: badge, className: 'op-badge' }, badge),
            ),
          h(Arrow, { className: 'arrow' }),
        ),
      ),
      h('a', { className: 'op-link', href: `#/${tag}/${operationId}`, 'aria-label': `Link to ${operationId}` }, '#'),
    );
  };

const tagSection =
  ({ React: { createElement: h } }) =>
  ({ tag, tagObj, layoutSelectors, layoutActions, getComponent, children }) => {
    // That of the messages to webhooks, which have a heading of their own.
    if (tagObj.get('operations').isEmpty()) return null;
    const key = ['operations-tag', tag];
    const isShown = layoutSelectors.isShown(key, true);
    const Arrow = getComponent(isShown ? 'ArrowUpIcon' : 'ArrowDownIcon');
    return h(
      'section',
      { className: 'opblock-tag-section', ref: (element) => element && layoutActions.readyToScroll(key, element) },
      h(
        'h2',
        { className: 'docs-tag', id: key.join('-') },
        h(
          'button',
          { type: 'button', 'aria-expanded': isShown, onClick: () => layoutActions.show(key, !isShown) },
          tag,
          h(Arrow, { className: 'arrow' }),
        ),
      ),
      isShown && h('p', { className: 'docs-tag-text' }, tagObj.getIn(['tagDetails', 'description'])),
      isShown && children,
    );
  };

/**
 * The lines of operations and tags: badges in place of locks, which Swagger UI closes for public operations too, and one
 * button each, where it nests a link in a button.
 */
export const summaryPlugin = (system) => ({
  wrapComponents: {
    OperationSummary: () => summary(system),
    OperationTag: () => tagSection(system),
  },
});
