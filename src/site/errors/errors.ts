import express, { type Router } from 'express';
import type { Config } from '../../config/config.ts';
import { readOnly } from '../../http/middleware/preconditions.ts';
import { assetOf, revalidated, servePage } from '../serve.ts';
import { explanations } from './explanations.ts';
import { errorsPage } from './page.ts';

/** The meaning of every reason: `/errors` for people, `/errors.json`, `{errors: Explanation[]}`, for programs. */
export const errorPages = (config: Config): Router => {
  const explained = explanations(config.publicUrl);
  const router = express.Router({ caseSensitive: true, strict: true });
  servePage(router, '/errors', errorsPage(explained, config));
  router.all('/errors.json', readOnly, revalidated('json', JSON.stringify({ errors: explained })));
  router.all('/assets/errors.css', readOnly, revalidated('css', assetOf('errors.css')));
  router.all('/assets/errors.js', readOnly, revalidated('js', assetOf('errors.js')));
  return router;
};
