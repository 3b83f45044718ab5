/** Gives an element of Swagger UI's what it lacks to be used by ear or keyboard. */
const withProps =
  ({ React: { createElement: h } }, propsOf) =>
  (Original) =>
  (props) =>
    h(Original, { ...props, ...propsOf(props) });

/** A box of code that scrolls is a stop of the Tab key, for who scrolls by keyboard. */
const scrollable =
  ({ React: { createElement: h, useEffect, useRef } }) =>
  (Original) =>
  (props) => {
    const box = useRef(null);
    useEffect(() => box.current.querySelector('pre')?.setAttribute('tabindex', '0'));
    return h('div', { ref: box }, h(Original, props));
  };

/** Undoes what was typed. Operations can always be tried, so there is nothing to begin or to cancel. */
const resetButton =
  ({ React: { createElement: h } }) =>
  ({ hasUserEditedBody, onResetClick }) =>
    hasUserEditedBody
      ? h('button', { type: 'button', className: 'btn', onClick: onResetClick }, 'Back to the example')
      : null;

/** Names for fields that have none. */
export const labelsPlugin = (system) => ({
  wrapComponents: {
    TextArea: withProps(system, () => ({ 'aria-label': 'Request body' })),
    SyntaxHighlighter: scrollable(system),
    TryItOutButton: () => resetButton(system),
  },
});
