import { createRequire } from 'node:module';
import express, { type Router } from 'express';
import swaggerUi from 'swagger-ui-express';
import { readOnly } from '../http/middleware/preconditions.ts';
import { assetFiles, cacheControlOf } from './serve.ts';

const require = createRequire(import.meta.url);

/** The options of Swagger UI; its plugins are those of `assets/swagger/`. */
const options = {
  swaggerUrl: '../openapi.json',
  swaggerOptions: {
    dom_id: '#docs-root',
    layout: 'DocsLayout',
    filter: true,
    // In the storage of the tab: see `assets/swagger/key-storage.js`.
    persistAuthorization: true,
    tryItOutEnabled: true,
    displayRequestDuration: true,
    requestSnippetsEnabled: true,
    defaultModelsExpandDepth: 0,
    defaultModelExpandDepth: 4,
    // The address of the document is not sent to other parties' validators.
    validatorUrl: null,
  },
};

/** The files that the page requests; the package has others, such as a demo of another API. */
const PACKAGE_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js'];

const { version } = require('swagger-ui-dist/package.json') as { version: string };

/** A text that changes with the files of Swagger UI. */
export const swaggerFingerprint: string = version + JSON.stringify(options);

/** Swagger UI's files from the npm package, and its start with our options. */
export const swaggerFiles = (): Router => {
  const [init] = swaggerUi.serveFiles(undefined, options);
  const router = express.Router({ caseSensitive: true, strict: true });
  router.use(
    assetFiles(
      Object.fromEntries(PACKAGE_FILES.map((name) => [`/${name}`, require.resolve(`swagger-ui-dist/${name}`)])),
    ),
  );
  router.all('/swagger-ui-init.js', readOnly, (_request, response, next) => {
    response.set('Cache-Control', cacheControlOf(response));
    next();
  });
  if (init) router.all('/swagger-ui-init.js', init);
  return router;
};
