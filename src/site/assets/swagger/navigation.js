/** The name of a section of the introduction in addresses: `#/about/repeating-a-write`. */
const slugOf = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-');

const SECTION = /^## (.+)$/gm;

/** The sections of the introduction, in its order. */
const sectionsOf = (text) => [...text.matchAll(SECTION)].map(([, heading]) => heading);

const ABOUT = '#/about/';

/** Opens the introduction at the section that the address names; where it names none, at its head. */
export const showSection = () => {
  const slug = location.hash.slice(ABOUT.length);
  const about = document.querySelector('.docs-about');
  about.open = true;
  const found = [...about.querySelectorAll('h2')].find(({ textContent }) => slugOf(textContent) === slug);
  (found ?? about).scrollIntoView();
};

/** The links to all that the page holds, beside it where there is room. The one of the page's address is marked. */
const navigation =
  ({ React: { createElement: h, useEffect, useState } }) =>
  ({ specSelectors }) => {
    const [hash, setHash] = useState(location.hash);
    useEffect(() => {
      if (hash.startsWith(ABOUT)) showSection();
      const follow = () => setHash(location.hash);
      window.addEventListener('hashchange', follow);
      return () => window.removeEventListener('hashchange', follow);
    }, []);
    const link = (href, text) =>
      h('li', { key: href }, h('a', { href, ...(href === hash && { 'aria-current': 'true' }) }, text));
    const group = (heading, links) => [h('h2', { key: heading }, heading), h('ul', { key: `${heading} links` }, links)];
    const sections = sectionsOf(specSelectors.info().get('description'));
    return h(
      'nav',
      { className: 'docs-navigation', 'aria-label': 'On this page' },
      group(
        'About this API',
        sections.map((heading) => link(ABOUT + slugOf(heading), heading)),
      ),
      specSelectors
        .taggedOperations()
        .filter((details) => !details.get('operations').isEmpty())
        .entrySeq()
        .toArray()
        .map(([tag, details]) =>
          group(
            tag,
            details
              .get('operations')
              .toArray()
              .map((one) => one.get('path').split('/').at(-1))
              .map((id) => link(`#/${tag}/${id}`, id.replace(`${tag}.`, ''))),
          ),
        ),
      group(
        'Webhooks',
        specSelectors
          .webhooks()
          .valueSeq()
          .toArray()
          .map((message) => message.first().get('operationId'))
          .map((id) => link(`#/webhooks/${id}`, id.split('.').at(-1))),
      ),
    );
  };

export const navigationPlugin = (system) => ({ components: { DocsNavigation: navigation(system) } });
