import { isStreamRoute, type Route, type StreamRoute } from '../../contract/index.ts';
import { type Call, callOf, streamCallOf } from './call.ts';
import { curlSample, curlStreamSample } from './curl.ts';
import { goSample } from './go.ts';
import { csharpSample, type HttpCall, phpSample, rubySample } from './http.ts';
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
  ['TypeScript', 'TypeScript', typescriptSample],
  ['Python', 'Python', pythonSample],
  ['Go', 'Go', goSample],
  ['Java', 'Java', javaSample],
  ['Rust', 'Rust', rustSample],
];

const byHttp: [lang: string, label: string, sample: (call: HttpCall) => string][] = [
  ['PHP', 'PHP', phpSample],
  ['C#', 'C#', csharpSample],
  ['Ruby', 'Ruby', rubySample],
];

/** How an operation is called with the input of its example: by curl, by each SDK, and by languages without an SDK. */
export const samplesOf = (route: Route | StreamRoute): CodeSample[] => {
  const call = isStreamRoute(route) ? streamCallOf(route) : callOf(route);
  const curl = isStreamRoute(route) ? curlStreamSample(route) : curlSample(call);
  // A stream by plain HTTP ends by itself.
  const plain = isStreamRoute(route) ? { ...call, json: route.metadata.example.input } : call;
  return [
    { lang: 'Shell', label: 'curl', source: curl },
    ...languages.map(([lang, label, sample]) => ({ lang, label, source: sample(call) })),
    ...byHttp.map(([lang, label, sample]) => ({ lang, label, source: sample(plain) })),
  ];
};
