/** Gives an element of Swagger UI's what it lacks to be used by ear or keyboard. */
const withProps =
  ({ React: { createElement: h } }, propsOf) =>
  (Original) =>
  (props) =>
    h(Original, { ...props, ...propsOf(props) });

/** Colors of code, by the classes of its tokens: those of the page, in either scheme. */
const CODE_STYLE = {
  hljs: { color: 'var(--text)', background: 'var(--raised)' },
  'hljs-comment': { color: 'var(--muted)' },
  'hljs-string': { color: 'var(--good)' },
  'hljs-number': { color: 'var(--caution)' },
  'hljs-literal': { color: 'var(--caution)' },
  'hljs-variable': { color: 'var(--caution)' },
  'hljs-keyword': { color: 'var(--accent)' },
  'hljs-built_in': { color: 'var(--accent)' },
  'hljs-attr': { color: 'var(--accent)' },
};

/** A box of code in the colors of the page. Since it scrolls, the Tab key reaches it. */
const codeBox =
  ({ React: { createElement: h, useEffect, useRef } }) =>
  (Original) =>
  (props) => {
    const box = useRef(null);
    useEffect(() => box.current.querySelector('pre')?.setAttribute('tabindex', '0'));
    return h('div', { ref: box }, h(Original, { ...props, syntaxHighlighting: { defaultStyle: CODE_STYLE } }));
  };

/** Undoes what was typed. Operations can always be tried, so there is nothing to begin or to cancel. */
const resetButton =
  ({ React: { createElement: h } }) =>
  ({ hasUserEditedBody, onResetClick }) =>
    hasUserEditedBody
      ? h('button', { type: 'button', className: 'btn', onClick: onResetClick }, 'Back to the example')
      : null;

/** Names for fields that have none, and boxes of code. */
export const labelsPlugin = (system) => ({
  wrapComponents: {
    TextArea: withProps(system, () => ({ 'aria-label': 'Request body' })),
    SyntaxHighlighter: codeBox(system),
    TryItOutButton: () => resetButton(system),
  },
});
