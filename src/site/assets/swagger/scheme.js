/** Swagger UI has dark colors of its own, for a class of the root: it follows the preference, also while that changes. */
export const followScheme = () => {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', follow);
  follow();
};
