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

/** `getById` → `GetById` */
export const pascalCase = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
/** `getById` → `get_by_id` */
export const snakeCase = (name: string): string => name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, '_$&').toLowerCase();
