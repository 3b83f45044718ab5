import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { escapeHtml } from './html.ts';

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

type Settings = Pick<Config, 'sdksDir' | 'sdkPackages'>;

/** Whether the service has a package at `/sdks/`. */
export const isServed = ({ sdksDir }: Settings, { file }: Package): boolean =>
  sdksDir !== undefined && existsSync(join(sdksDir, file));

const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };

const ABSENT = 'not at /sdks/ of this service: `npm run sdk` in a clone makes it';

/** The line that installs a package where it is published, or else from this service. */
export const installLine = (settings: Settings, language: string, one: Package): string => {
  const registry = settings.sdkPackages[language];
  if (registry !== undefined) return one.published.replace('{registry}', () => registry);
  if (isServed(settings, one)) return one.served;
  return one.served.startsWith('<') ? `<!-- ${one.name}: ${ABSENT} -->` : `# ${one.name}: ${ABSENT}`;
};

const plainText = (html: string): string =>
  html.replaceAll(/<[^>]*>/g, '').replaceAll(/&(amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);

/**
 * A guide with the lines that install packages for this service. The texts have those of a service that serves all of
 * them, with the variable of the shell or `address`.
 */
export const withInstallLines = (text: string, isHtml: boolean, settings: Settings, address: string): string => {
  const lines = new Map(
    packages.flatMap(([language, one]) => {
      const bare = one.served.replace(/"\$\w+?_URL(.+)"/, (_, path: string) => address + path);
      const line = installLine(settings, language, one);
      return line === one.served ? [] : [one.served, bare].map((served): [string, string] => [served, line]);
    }),
  );
  if (lines.size === 0) return text;
  return text.replaceAll(/^( *)(.*\/sdks\/.*)$/gm, (whole, indent: string, line: string) => {
    const found = lines.get(isHtml ? plainText(line) : line);
    return found === undefined ? whole : indent + (isHtml ? escapeHtml(found) : found);
  });
};
