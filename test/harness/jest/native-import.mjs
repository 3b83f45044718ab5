/** Imports a module as Node.js does, beside Jest, from this project. */
export const nativeImport = (specifier) => import(specifier);
