import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** The parts of Redoc that the content security policy refuses, and their replacements. */
const MENDED: readonly [what: RegExp, by: string][] = [
  // The logo of its makers, from their server: an empty picture.
  [
    /https:\/\/cdn\.redoc\.ly\/redoc\/logo-mini(?:-full)?\.svg/g,
    'data:image/svg+xml,<svg xmlns=%22http://www.w3.org/2000/svg%22/>',
  ],
  // Inline styles for the colors of code: an attribute, which reference.css colors.
  [/ style="color: var\(\$\{(\w+)\}\)"/g, ' data-token="${$1}"'],
  // A font of icons for listings of folders, of which there are none.
  [/url\('data:application\/font-woff;[^']*'\)\s+format\('woff'\)/g, "local('none')"],
];

/** Redoc as one module that keeps to the policy of our pages. @throws Error if it is not the Redoc that we know */
export const redocBundle = (): string =>
  MENDED.reduce(
    (text, [what, by]) => {
      const mended = text.replace(what, by);
      if (mended === text) throw new Error(`Redoc no longer holds ${what}.`);
      return mended;
    },
    readFileSync(require.resolve('redoc/bundles/redoc.standalone.js'), 'utf8'),
  );
