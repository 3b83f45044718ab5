// The scenario of the SDKs on sandboxes with seeds, whose calls fail at random: the SDK must get through, and do nothing twice.
import { startSandbox } from './gateway.mjs';

/** How often a call was tried, in replies and in the texts of errors. */
const ATTEMPTS = /, (?:after \d+ attempts|attempts \d+)/g;

/** Plays the scenario on a sandbox. Returns what it prints, what is stored then, and the faults that it met. */
const playOn = async (scenario, seed) => {
  const { url, stop } = await startSandbox(seed);
  try {
    const { keys } = await (await fetch(`${url}/sandbox`)).json();
    const keyNamed = (wanted) => keys.find(({ name }) => name === wanted).key;
    const output = await scenario({
      CONTENT_GATEWAY_URL: url,
      CONTENT_GATEWAY_API_KEY: keyNamed('content:write, user:read'),
      GATEWAY_READ_KEY: keyNamed('user:read'),
    });
    const { faults } = await (await fetch(`${url}/sandbox/faults`)).json();
    const headers = { 'X-Sandbox-Delay': '0', Authorization: `Bearer ${keyNamed('all scopes')}` };
    const user = await fetch(`${url}/api/trpc/user.me`, { method: 'POST', headers });
    const { gameCount, imagePostCount } = (await user.json()).result.data.json;
    const stored = `stored: ${gameCount} games, ${imagePostCount} image posts`;
    return { found: `${output.replaceAll(ATTEMPTS, '')}${stored}\n`, faults };
  } finally {
    await stop();
  }
};

/**
 * Holds what `scenario` prints and stores on a sandbox with each seed against what it does without faults. `compare` throws where
 * they differ. Returns how many faults it met.
 */
export const checkRandomFaults = async (scenario, seeds, compare) => {
  const { found: wanted } = await playOn(scenario, undefined);
  let met = 0;
  for (const seed of seeds) {
    const { found, faults } = await playOn(scenario, seed).catch((error) => {
      throw new Error(`seed ${seed}: ${error.message}`, { cause: error });
    });
    try {
      compare(found, wanted);
    } catch (error) {
      const list = faults.map(({ operation, attempt, fault }) => `\n  ${operation} ${attempt}: ${fault}`).join('');
      throw new Error(`seed ${seed}: ${error.message}\n  after these faults:${list}`, { cause: error });
    }
    met += faults.length;
  }
  if (met === 0) throw new Error(`the seeds ${seeds.join(', ')} have no faults for this scenario`);
  return met;
};
