import express, { type Router } from 'express';
import type { Context } from '../context.ts';
import { AppError } from '../errors.ts';
import { readOnly } from './guard.ts';

/** `/healthz`: the process answers. `/readyz`: so does the database, and its migrations are applied. */
export const health = ({ db }: Context): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.all('/healthz', readOnly, (_request, response) => {
    response.json({ status: 'ok' });
  });
  router.all('/readyz', readOnly, async (_request, response) => {
    const pending = await db.pendingMigrations();
    if (pending.length > 0) {
      throw new AppError('DATABASE_UNAVAILABLE', { hint: `Migrations are due: ${pending.join(', ')}.` });
    }
    response.json({ status: 'ready' });
  });
  return router;
};
