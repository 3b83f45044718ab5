/** Addresses of the reference that was a page of its own had their operations in lower case. */
export const mendAddress = () => {
  const links = [...document.querySelectorAll('[data-operation] a')].map((link) => link.getAttribute('href'));
  const meant = links.find((href) => href.toLowerCase() === location.hash.toLowerCase());
  if (meant) history.replaceState(history.state, '', meant);
};
