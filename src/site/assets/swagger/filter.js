import { badgesOf } from './access.js';

/** How many operations there are, as the page came with them. */
const operationCount = document.querySelectorAll('[data-operation]').length;

const textOf = (operation, tag) => {
  const details = operation.get('operation');
  return [
    tag,
    operation.get('path'),
    details.get('operationId'),
    details.get('summary'),
    ...badgesOf(details.get('security'), details.get('x-required-scopes')),
  ]
    .join(' ')
    .toLowerCase();
};

/** Keeps the operations that have each word of the phrase somewhere in their tag, path, id, summary or badges. */
const opsFilter = (tags, phrase) => {
  const words = phrase.toLowerCase().split(/\s+/);
  return tags
    .map((details, tag) =>
      details.update('operations', (operations) =>
        operations.filter((operation) => {
          const text = textOf(operation, tag);
          return words.every((word) => text.includes(word));
        }),
      ),
    )
    .filter((details) => !details.get('operations').isEmpty());
};

const filterBox =
  ({ React: { createElement: h, useId } }) =>
  ({ layoutSelectors, layoutActions, specSelectors }) => {
    const id = useId();
    const phrase = layoutSelectors.currentFilter();
    const isFiltered = typeof phrase === 'string' && phrase.trim() !== '';
    const count = specSelectors.taggedOperations().reduce((sum, tag) => sum + tag.get('operations').size, 0);
    const clear = () => {
      layoutActions.updateFilter(true);
      document.getElementById(id)?.focus();
    };
    return h(
      'div',
      { className: 'docs-filter' },
      h('label', { htmlFor: id }, 'Find an operation'),
      h('input', {
        id,
        type: 'search',
        placeholder: 'Name, path, summary or scope',
        autoComplete: 'off',
        spellCheck: false,
        value: isFiltered || typeof phrase === 'string' ? phrase : '',
        onChange: ({ target }) => layoutActions.updateFilter(target.value === '' ? true : target.value),
      }),
      h(
        'p',
        { role: 'status', className: count === 0 ? 'docs-nothing' : 'docs-count' },
        isFiltered && count > 0 && `${count} of ${operationCount} operations`,
        isFiltered && count === 0 && `Nothing found for “${phrase.trim()}”. `,
        isFiltered && count === 0 && h('button', { type: 'button', onClick: clear }, 'Show all operations'),
      ),
    );
  };

/** A box that finds operations; Swagger UI's own knows but tags and paths. */
export const filterPlugin = (system) => ({ fn: { opsFilter }, components: { DocsFilter: filterBox(system) } });
