/** The address of the service as this browser reaches it, without a trailing slash. A proxy in front may not tell the service. */
export const here = new URL('..', location.href).href.replace(/\/$/, '');

/**
 * An OpenAPI document as it is served, whose server, links and samples name the address of this browser.
 *
 * @param text the document in JSON
 */
export const atHome = (text) => {
  const [{ url }] = JSON.parse(text).servers;
  return text.replaceAll(url, () => here);
};
