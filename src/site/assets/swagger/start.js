// Loads Swagger UI once the browser has painted the page, whose list of operations stands in for it until then.
const folder = new URL('.', import.meta.url);
const status = document.querySelector('.docs-status');

/** Adds an element to the page that loads a file. Settles when it has. */
const load = (name, attributes, add) =>
  new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement(name), attributes);
    element.addEventListener('load', resolve);
    element.addEventListener('error', reject);
    add(element);
  });
const addScript = (name) =>
  load('script', { src: new URL(name, folder).href }, (element) => document.head.append(element));
/** Our styles come last, for they change those of Swagger UI. */
const addStyles = (name) =>
  load('link', { rel: 'stylesheet', href: new URL(name, folder).href }, (element) =>
    document.querySelector('link[href$="/docs.css"]').before(element),
  );

const start = async () => {
  await Promise.all([addStyles('swagger-ui.css'), addScript('swagger-ui-bundle.js'), import('./plugins.js')]);
  await addScript('swagger-ui-init.js');
  // The script waits for an event that has happened.
  if (document.readyState === 'complete') window.onload();
};

status.textContent = 'Loading the forms to try them …';
const begin = () =>
  start().catch(() => {
    status.textContent = 'The forms to try them did not load. Reload the page.';
  });
// Browsers paint no tab in the background.
if (document.visibilityState === 'hidden') void begin();
else requestAnimationFrame(() => setTimeout(() => void begin()));
