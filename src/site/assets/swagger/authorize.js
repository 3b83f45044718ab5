import { faultOf, keyIn } from './key-format.js';

/** The form for a key: says which form a key has, and refuses what has another. */
const dialog =
  ({ React: { createElement: h, useEffect, useId, useRef, useState } }) =>
  ({ authSelectors, authActions, getComponent }) => {
    const id = useId();
    const element = useRef(null);
    const input = useRef(null);
    const [fault, setFault] = useState(undefined);
    const [[name, schema]] = authSelectors.shownDefinitions().first().entrySeq().toArray();
    const isAuthorized = authSelectors.authorized().has(name);
    const close = () => authActions.showDefinitions(false);
    const Markdown = getComponent('Markdown', true);

    useEffect(() => {
      const opener = document.activeElement;
      element.current.showModal();
      return () => opener?.focus();
    }, []);

    const submit = (event) => {
      event.preventDefault();
      const key = keyIn(input.current.value);
      const found = faultOf(key, schema.get('bearerFormat') ?? '\\S+');
      setFault(found);
      if (found === undefined)
        authActions.authorizeWithPersistOption({ [name]: { name, schema: schema.toJS(), value: key } });
      else input.current.focus();
    };

    const form = [
      h(
        'div',
        { key: 'field', className: 'docs-field' },
        h('label', { htmlFor: id }, 'API key'),
        h('input', {
          id,
          ref: input,
          type: 'text',
          autoFocus: true,
          autoComplete: 'off',
          autoCapitalize: 'off',
          spellCheck: false,
          'aria-invalid': fault !== undefined,
          'aria-describedby': `${id}help ${id}fault`,
        }),
        h('p', { id: `${id}fault`, role: 'alert', className: 'docs-fault' }, fault),
        h('p', { id: `${id}help` }, 'Paste it with or without “Bearer” in front.'),
      ),
      h('button', { key: 'submit', type: 'submit', className: 'docs-primary' }, 'Use this key'),
    ];
    const done = [
      h('p', { key: 'done', role: 'status' }, 'A key is in use, in this tab alone.'),
      h(
        'button',
        { key: 'forget', type: 'button', onClick: () => authActions.logoutWithPersistOption([name]) },
        'Forget the key',
      ),
    ];

    return h(
      'dialog',
      { ref: element, className: 'docs-dialog', 'aria-labelledby': `${id}title`, onClose: close },
      h(
        'form',
        { onSubmit: submit, noValidate: true },
        h('h2', { id: `${id}title` }, 'Authorize'),
        h(Markdown, { source: schema.get('description') }),
        isAuthorized ? done : form,
        h('button', { type: 'button', className: 'btn-done', onClick: close }, 'Close'),
      ),
    );
  };

const button =
  ({ React: { createElement: h } }) =>
  ({ isAuthorized, showPopup, onClick, getComponent }) => {
    const Popup = getComponent('authorizationPopup', true);
    return h(
      'div',
      { className: 'docs-authorize' },
      h('button', { type: 'button', className: 'authorize', onClick }, isAuthorized ? 'Key in use' : 'Authorize'),
      showPopup && h(Popup),
    );
  };

/** `Authorize`: a dialog that takes a key as people have it at hand. The key of the document is the one scheme it knows. */
export const authorizePlugin = (system) => ({
  wrapComponents: { authorizationPopup: () => dialog(system), authorizeBtn: () => button(system) },
});
