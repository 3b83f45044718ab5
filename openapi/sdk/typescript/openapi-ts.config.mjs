// Plain JavaScript: the generator is run with what Node.js itself can read.
const root = new URL('../../../', import.meta.url).pathname;

/** @type {import('@hey-api/openapi-ts').UserConfig} */
export default {
  input: `${root}openapi/openapi.json`,
  output: { path: `${root}build/sdk/typescript/src/generated`, importFileExtension: '.js' },
  logs: { level: 'silent', file: false },
  plugins: [
    '@hey-api/client-fetch',
    {
      name: '@hey-api/typescript',
      // The generator's own names would meet components such as `GameListData` and end in numbers.
      requests: '{{name}}Call',
      responses: { name: '{{name}}Replies', response: '{{name}}Reply' },
    },
    {
      name: '@hey-api/sdk',
      // `game.list` becomes the method `list` of a class for `game`.
      operations: {
        strategy: 'single',
        containerName: 'Procedures',
        nesting: 'operationId',
      },
    },
  ],
};
