import type { MetricsDocument } from '../../http/server/metrics-server.ts';
import { logoOf, logoType } from '../../site/brand/logo.ts';
import { paletteCss } from '../../site/brand/palette.ts';
import { assetOf } from '../../site/serve.ts';
import { statusPage } from './page.ts';
import { STATUS_PATHS } from './paths.ts';
import { StatusReader, type StatusSources } from './status.ts';

/** The documents about the state of a service, which are served with its metrics; `describe` words an error. */
export const statusDocuments = (
  sources: StatusSources,
  describe: (error: unknown) => string,
): ReadonlyMap<string, MetricsDocument> => {
  const reader = new StatusReader(sources, describe);
  const { brand } = sources.context.config;
  return new Map<string, MetricsDocument>([
    [
      STATUS_PATHS.page,
      { type: 'text/html; charset=utf-8', read: async () => statusPage(await reader.read(), brand.name) },
    ],
    [STATUS_PATHS.json, { type: 'application/json', read: async () => JSON.stringify(await reader.read()) }],
    [STATUS_PATHS.icon, { type: logoType(brand), read: async () => logoOf(brand).bytes }],
    [
      STATUS_PATHS.styles,
      {
        type: 'text/css; charset=utf-8',
        read: async () => [paletteCss(brand.color), assetOf('site.css'), assetOf('admin.css')].join('\n'),
      },
    ],
  ]);
};
