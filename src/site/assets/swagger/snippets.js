import { tabsOf } from './tabs.js';

const snippets = ({ React }) => {
  const h = React.createElement;
  const Tabs = tabsOf(React);
  return ({ request, requestSnippetsSelectors, getComponent }) => {
    const generators = requestSnippetsSelectors.getSnippetGenerators();
    const names = generators
      .map((generator) => generator.get('title'))
      .toArray()
      .map(([, title]) => title);
    const [chosen, choose] = React.useState(names[0]);
    const generator = generators.find((one) => one.get('title') === chosen);
    const HighlightCode = getComponent('HighlightCode', true);
    return h(
      'details',
      { className: 'docs-fold' },
      h('summary', null, 'This request by curl'),
      h(
        Tabs,
        { label: 'Shell', names, chosen, onChoose: choose },
        h(HighlightCode, { language: generator.get('syntax'), canCopy: true }, generator.get('fn')(request)),
      ),
    );
  };
};

/** The request that was sent, as a command of each shell; Swagger UI's own tabs cannot be reached by keyboard. */
export const snippetsPlugin = (system) => ({ wrapComponents: { RequestSnippets: () => snippets(system) } });
