import { isStreamRoute, type Route, type StreamRoute } from '../../contract/index.ts';
import { type Call, callOf } from './call.ts';
import { curlSample, curlStreamSample } from './curl.ts';
import { goSample } from './go.ts';
import { javaSample } from './java.ts';
import { pythonSample } from './python.ts';
import { rustSample } from './rust.ts';
import { typescriptSample } from './typescript.ts';

/** A sample, as readers of OpenAPI documents know it. */
export interface CodeSample {
  /** The language, for colours: `TypeScript`. */
  lang: string;
  /** Its name. */
  label: string;
  source: string;
}

const languages: [lang: string, label: string, sample: (call: Call) => string][] = [
  ['Shell', 'curl', curlSample],
  ['TypeScript', 'TypeScript', typescriptSample],
  ['Python', 'Python', pythonSample],
  ['Go', 'Go', goSample],
  ['Java', 'Java', javaSample],
  ['Rust', 'Rust', rustSample],
];

/** How an operation is called with the input of its example, by curl and by each SDK; a stream by curl alone. */
export const samplesOf = (route: Route | StreamRoute): CodeSample[] => {
  if (isStreamRoute(route)) return [{ lang: 'Shell', label: 'curl', source: curlStreamSample(route) }];
  const call = callOf(route);
  return languages.map(([lang, label, sample]) => ({ lang, label, source: sample(call) }));
};
