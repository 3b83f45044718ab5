import { failedCalls, seekCall } from './calls.js';
import { check, noteOwner, ownerOfKey } from './key-check.js';
import { faultOf, keyIn } from './key-format.js';

/**
 * The form for a key: says which form a key has, refuses what has another, and asks the service for the rest. It closes when
 * the key is in use.
 */
const dialog =
  ({ React: { createElement: h, useEffect, useId, useRef, useState } }) =>
  ({ authSelectors, authActions, getComponent }) => {
    const id = useId();
    const element = useRef(null);
    const input = useRef(null);
    const [fault, setFault] = useState(undefined);
    const [isChecking, setChecking] = useState(false);
    const [[name, schema]] = authSelectors.shownDefinitions().first().entrySeq().toArray();
    const isAuthorized = authSelectors.authorized().has(name);
    const close = () => authActions.showDefinitions(false);
    const Markdown = getComponent('Markdown', true);
    const FailedCalls = getComponent('DocsFailedCalls', true);

    useEffect(() => {
      const opener = document.activeElement;
      element.current.showModal();
      return () => opener?.focus();
    }, []);

    const submit = async (event) => {
      event.preventDefault();
      if (isChecking) return;
      const key = keyIn(input.current.value);
      const wrongForm = faultOf(key, schema.get('bearerFormat') ?? '\\S+');
      setFault(wrongForm);
      setChecking(wrongForm === undefined);
      const { owner, fault: refusal } = wrongForm === undefined ? await check(key) : {};
      setChecking(false);
      // Closed meanwhile.
      if (!element.current) return;
      if (owner === undefined) {
        setFault(wrongForm ?? refusal);
        input.current.focus();
        return;
      }
      noteOwner(owner);
      authActions.authorizeWithPersistOption({ [name]: { name, schema: schema.toJS(), value: key } });
      close();
    };

    const forget = () => {
      noteOwner(undefined);
      authActions.logoutWithPersistOption([name]);
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
      h(
        'button',
        { key: 'submit', type: 'submit', className: 'docs-primary', 'aria-disabled': isChecking },
        isChecking ? 'Checking …' : 'Use this key',
      ),
    ];
    const done = [
      h('p', { key: 'done' }, ownerOfKey()),
      h('p', { key: 'where' }, 'It is in use in this tab alone.'),
      h(FailedCalls, { key: 'calls', authKey: authSelectors.authorized().getIn([name, 'value']) }),
      h('button', { key: 'forget', type: 'button', onClick: forget }, 'Forget the key'),
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
      h('p', { role: 'status' }, isAuthorized && ownerOfKey()),
      showPopup && h(Popup),
    );
  };

/** Leads from a failed reply to the calls with the key that failed, at this one. */
const failedCallLink =
  ({ React: { createElement: h } }) =>
  ({ requestId = '', authSelectors, authActions }) => {
    if (authSelectors.authorized().isEmpty()) return null;
    const onClick = () => {
      seekCall(requestId);
      authActions.showDefinitions(authSelectors.definitionsToAuthorize());
    };
    return h('p', null, h('button', { type: 'button', onClick }, 'Calls with this key that failed'));
  };

/** `Authorize`: a dialog that takes a key as people have it at hand. The key of the document is the one scheme it knows. */
export const authorizePlugin = (system) => ({
  components: { DocsFailedCalls: failedCalls(system), DocsFailedCallLink: failedCallLink(system) },
  wrapComponents: { authorizationPopup: () => dialog(system), authorizeBtn: () => button(system) },
});
