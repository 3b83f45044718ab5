import { tabsOf } from './tabs.js';

/** Where the tab remembers the language chosen last. */
const STORED = 'docs-language';
const CHOSEN = 'samples_language_chosen';

/** What Swagger UI can highlight; the others are shown plain. */
const HIGHLIGHTED = { shell: 'bash', bash: 'bash', curl: 'bash', javascript: 'javascript', typescript: 'javascript' };

const samples = ({ React }) => {
  const h = React.createElement;
  const Tabs = tabsOf(React);
  return ({ path, method, specSelectors, samplesSelectors, samplesActions, getComponent }) => {
    const all = specSelectors.specJson().getIn(['paths', path, method, 'x-codeSamples']);
    if (!all || all.isEmpty()) return null;
    const names = all.map((sample) => sample.get('label') ?? sample.get('lang')).toArray();
    const wanted = samplesSelectors.language();
    const index = Math.max(0, names.indexOf(wanted));
    const HighlightCode = getComponent('HighlightCode', true);
    const language = HIGHLIGHTED[all.getIn([index, 'lang']).toLowerCase()] ?? 'text';
    return h(
      'section',
      { className: 'docs-samples' },
      h('h4', null, 'Call it from your code'),
      h(
        Tabs,
        { label: 'Language', names, chosen: names[index], onChoose: samplesActions.chooseLanguage },
        h(HighlightCode, { language, canCopy: true }, all.getIn([index, 'source'])),
      ),
    );
  };
};

/** The code samples of an operation, `x-codeSamples` in the document, in the language that was chosen for any. */
export const samplesPlugin = (system) => ({
  components: { DocsSamples: samples(system) },
  statePlugins: {
    samples: {
      reducers: { [CHOSEN]: (state, { payload }) => state.set('language', payload) },
      actions: {
        chooseLanguage: (language) => {
          sessionStorage.setItem(STORED, language);
          return { type: CHOSEN, payload: language };
        },
      },
      selectors: { language: (state) => state?.get('language') ?? sessionStorage.getItem(STORED) },
    },
  },
});
