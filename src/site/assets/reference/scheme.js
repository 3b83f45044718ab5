// Redoc looks once at the scheme that the reader prefers, and keeps a choice of its own in the local storage: as with all
// other pages, only the preference counts here, whenever it changes.
const isDark = matchMedia('(prefers-color-scheme: dark)');

export const followScheme = () => {
  localStorage.removeItem('redoc.colorMode');
  isDark.addEventListener('change', () => {
    document.documentElement.classList.toggle('dark', isDark.matches);
    document.documentElement.classList.toggle('light', !isDark.matches);
  });
};
