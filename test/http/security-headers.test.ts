/**
 * @engines none
 * @tier fast
 */
import { describe, expect, test } from '@jest/globals';
import cors from 'cors';
import express from 'express';
import helmet from 'helmet';
import request from 'supertest';
import { securityHeaders } from '../../src/http/middleware/security-headers.ts';

/** The headers that helmet and cors set, names and values in turn. */
const headersOfLibraries = async (origins: string[], origin: string, isSecure: boolean): Promise<string[]> => {
  const ours = securityHeaders(origins)({ origin, isSecure });
  const app = express().disable('x-powered-by');
  app.use(
    helmet({
      contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
      crossOriginResourcePolicy: { policy: 'cross-origin' },
      ...(!isSecure && { strictTransportSecurity: false }),
    }),
    cors({
      origin: origins.includes('*') ? '*' : origins,
      exposedHeaders: ours[ours.indexOf('access-control-expose-headers') + 1],
    }),
    (_request, response) => {
      response.json(response.getHeaderNames().flatMap((name) => [name, String(response.getHeader(name))]));
    },
  );
  const { body } = await request(app).get('/').set('Origin', origin);
  return body as string[];
};

describe('security headers', () => {
  const [ALLOWED, OTHER] = ['https://a.example', 'https://c.example'];

  test.each([
    { origins: ['*'], origin: ALLOWED },
    { origins: [ALLOWED], origin: ALLOWED },
    { origins: [ALLOWED, 'https://b.example'], origin: OTHER },
  ])('are those of helmet and cors: $origins, asked by $origin', async ({ origins, origin }) => {
    for (const isSecure of [false, true]) {
      expect(securityHeaders(origins)({ origin, isSecure })).toEqual(
        await headersOfLibraries(origins, origin, isSecure),
      );
    }
  });

  test('without an origin are those of an origin that is not allowed', () => {
    expect(securityHeaders([ALLOWED])()).toEqual(securityHeaders([ALLOWED])({ origin: OTHER, isSecure: false }));
    expect(securityHeaders([ALLOWED])()).not.toContain('access-control-allow-origin');
  });
});
