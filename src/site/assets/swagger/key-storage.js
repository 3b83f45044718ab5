/**
 * Swagger UI keeps the key in the local storage, for ever and for whoever uses the browser next. Given that of the session in
 * its place, it forgets the key with the tab. Also removes what earlier versions left behind.
 */
export const keepInTab = () => {
  localStorage.removeItem('authorized');
  Object.defineProperty(window, 'localStorage', { value: sessionStorage });
};
