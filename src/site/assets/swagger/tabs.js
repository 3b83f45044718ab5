const STEPS = { ArrowRight: 1, ArrowLeft: -1 };

/**
 * Tabs after the pattern of the ARIA guide: one stop of the Tab key, arrows to choose, Home and End.
 * Takes `label`, `names`, `chosen` (one of the names), `onChoose` and the content of the chosen tab.
 */
export const tabsOf =
  ({ createElement: h, useId }) =>
  ({ label, names, chosen, onChoose, children }) => {
    const id = useId();
    const choose = (index) => {
      const name = names.at(index % names.length);
      onChoose(name);
      document.getElementById(`${id}${name}`)?.focus();
    };
    const onKeyDown = (event) => {
      const { key } = event;
      if (key === 'Home') choose(0);
      else if (key === 'End') choose(-1);
      else if (key in STEPS) choose(names.indexOf(chosen) + STEPS[key]);
      else return;
      event.preventDefault();
    };
    return h(
      'div',
      { className: 'docs-tabs' },
      h(
        'div',
        { role: 'tablist', 'aria-label': label, onKeyDown },
        names.map((name) =>
          h(
            'button',
            {
              key: name,
              id: `${id}${name}`,
              type: 'button',
              role: 'tab',
              'aria-selected': name === chosen,
              'aria-controls': name === chosen ? `${id}panel` : undefined,
              tabIndex: name === chosen ? 0 : -1,
              onClick: () => onChoose(name),
            },
            name,
          ),
        ),
      ),
      h('div', { role: 'tabpanel', id: `${id}panel`, 'aria-labelledby': `${id}${chosen}` }, children),
    );
  };
