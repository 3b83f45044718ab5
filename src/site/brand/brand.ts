import express, { type RequestHandler, type Router } from 'express';
import { contentSecurityPolicy } from 'helmet';
import type { Brand } from '../../config/config.ts';
import { readOnly } from '../../http/middleware/preconditions.ts';
import { revalidated } from '../serve.ts';
import { logoOf, logoPath } from './logo.ts';
import { paletteCss } from './palette.ts';

/** An SVG is a document, too: opened by itself, the operator's may style itself and hold pictures, and runs nothing. */
const picturePolicy: RequestHandler = contentSecurityPolicy({
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    styleSrc: ["'unsafe-inline'"],
    imgSrc: ['data:'],
    frameAncestors: ["'none'"],
    sandbox: [],
  },
});

/** Serves the operator's branding: colors, logo, icon. */
export const brandFiles = (brand: Brand): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  const { type, bytes } = logoOf(brand);
  router.all(['/favicon.ico', `/${logoPath(brand)}`], readOnly, picturePolicy, revalidated(type, bytes));
  router.all('/assets/brand.css', readOnly, revalidated('css', paletteCss(brand.color)));
  return router;
};
