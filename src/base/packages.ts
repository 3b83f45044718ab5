import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** A package, as openapi/sdk/install.mjs describes it. */
export interface Package {
  name: string;
  version: string;
  /** The path below `/sdks/`. */
  file: string;
  /** The line that installs it from a gateway, whose address is a variable of the shell. */
  served: string;
  /** The line that installs it from `{registry}`. */
  published: string;
  /** Where the registry answers if it has the package. */
  probe: string;
  /** The text in the answer. */
  has?: string;
  /** The digest of the file in the answer: `sha256-hex`. */
  digest?: string;
}

/** The packages of the SDKs and of the types, by language. */
export const packages = Object.entries(
  createRequire(import.meta.url)('#openapi/install.json') as Record<string, Package>,
);

/** The settings that name where packages are. */
export interface PackageSettings {
  /** The folder of the packages at `/sdks/`. */
  sdksDir: string | undefined;
  /** The registries of the published packages, by language. */
  sdkPackages: Readonly<Record<string, string>>;
}

/** Whether the service has a package at `/sdks/`. */
export const isServed = ({ sdksDir }: PackageSettings, { file }: Package): boolean =>
  sdksDir !== undefined && existsSync(join(sdksDir, file));

const ABSENT = 'not at /sdks/ of this service: `npm run sdk` in a clone makes it';

/** The line that installs a package where it is published, or else from this service. */
export const installLine = (settings: PackageSettings, language: string, one: Package): string => {
  const registry = settings.sdkPackages[language];
  if (registry !== undefined) return one.published.replace('{registry}', () => registry);
  if (isServed(settings, one)) return one.served;
  return one.served.startsWith('<') ? `<!-- ${one.name}: ${ABSENT} -->` : `# ${one.name}: ${ABSENT}`;
};
