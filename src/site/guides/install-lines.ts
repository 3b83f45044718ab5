import { installLine, packages, type PackageSettings } from '../../base/packages.ts';
import { escapeHtml } from '../html.ts';

const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };

const plainText = (html: string): string =>
  html.replaceAll(/<[^>]*>/g, '').replaceAll(/&(amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);

/**
 * A guide with the lines that install packages for this service. The texts have those of a service that serves all of
 * them, with the variable of the shell or `address`.
 */
export const withInstallLines = (text: string, isHtml: boolean, settings: PackageSettings, address: string): string => {
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
