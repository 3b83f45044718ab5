import { readFileSync } from 'node:fs';
import { generateKey } from '../../src/auth/format.ts';
import { anySeed } from '../../src/testkit/conformance/seed.ts';
import { type Observer, type Run, type Target, verify } from '../../src/testkit/conformance/verify.ts';

/** The document that a deployment of this contract publishes. */
export const document = JSON.parse(readFileSync('openapi/openapi.json', 'utf8')) as object;

/** Runs the conformance kit, as a site that may call everything and with a seed of its own, unless told otherwise. */
export const runVerify = (target: Pick<Target, 'baseUrl'> & Partial<Target>, observer?: Observer): Promise<Run> =>
  verify(
    { unknownKey: generateKey(), origin: 'https://app.example.com', document, seed: anySeed(), ...target },
    observer,
  );
