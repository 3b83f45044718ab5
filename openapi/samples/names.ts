import { createRequire } from 'node:module';

interface Settings {
  typescript: { package: string };
  python: { package: string };
  go: { module: string; package: string };
  java: { package: string };
  rust: { crate: string };
}

/** Under what names the SDKs are published. */
export const sdks = createRequire(import.meta.url)('#openapi/sdk/settings.json') as Settings;

/** The address of the service in samples. A deployment with a public URL replaces it. */
export const SAMPLE_URL = 'http://localhost:3000';
/** The environment variable that samples take the key from. */
export const KEY_VARIABLE = 'GATEWAY_KEY';

/** `getById` → `GetById`, `game.created` → `GameCreated` */
export const pascalCase = (name: string): string =>
  name.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase());
/** `getById` → `get_by_id`, `game.created` → `game_created` */
export const snakeCase = (name: string): string =>
  name
    .replaceAll(/(?<=[a-z0-9])[A-Z]/g, '_$&')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .toLowerCase();
