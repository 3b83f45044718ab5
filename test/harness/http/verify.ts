import { readFileSync } from 'node:fs';
import { generateKey } from '../../../src/auth/format.ts';
import { anySeed } from '../../../openapi/kit/conformance/seed.ts';
import {
  type VerifyObserver,
  type VerifyRun,
  type VerifyTarget,
  verify,
} from '../../../openapi/kit/conformance/verify.ts';

/** The document that a deployment of this contract publishes. */
export const document = JSON.parse(readFileSync('openapi/openapi.json', 'utf8')) as object;

/** Runs the conformance kit, as a site that may call everything and with a seed of its own, unless told otherwise. */
export const runVerify = (
  target: Pick<VerifyTarget, 'baseUrl'> & Partial<VerifyTarget>,
  observer?: VerifyObserver,
): Promise<VerifyRun> =>
  verify(
    { unknownKey: generateKey(), origin: 'https://app.example.com', document, seed: anySeed(), ...target },
    observer,
  );
