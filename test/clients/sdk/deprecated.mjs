// Whether the SDKs mark what is deprecated. Nothing of ours is, so it is planted in copies of the documents.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const published = fileURLToPath(new URL('../../../openapi/', import.meta.url));

const deprecationOf = (why) => ({
  since: '2026-01-01',
  sunset: '2026-09-01',
  use: '`game.getById`',
  why: `Planted: ${why}.`,
});
/** Writes documents with deprecations to a folder. */
export const plantDeprecations = async (folder) => {
  const { deprecationText, deprecationKeywords, tellDeprecations } =
    await import('../../../dist/contract/deprecation.js');
  mkdirSync(folder, { recursive: true });
  for (const name of ['openapi.json', 'openapi-3.0.json']) {
    const document = JSON.parse(readFileSync(join(published, name), 'utf8'));
    const { schemas } = document.components;
    const plant = (properties, member) => {
      // A reference has nothing beside it in 3.0.
      if (name === 'openapi-3.0.json' && properties[member].$ref) {
        properties[member] = { allOf: [{ $ref: properties[member].$ref }] };
      }
      Object.assign(properties[member], deprecationKeywords(deprecationOf(member)));
      tellDeprecations(properties[member]);
    };
    for (const id of ['game.list', 'game.getTypeStats', 'event.list', 'game.getById']) {
      const { post } = document.paths[`/api/trpc/${id}`];
      Object.assign(post, deprecationKeywords(deprecationOf(id)));
      post.description += ` ${deprecationText(deprecationOf(id))}`;
    }
    plant(schemas.GameInput.properties, 'version');
    plant(schemas.GameInput.properties, 'extraInfo');
    plant(schemas.UserUpdateProfileInput.properties, 'bio');
    plant(schemas.GameSummary.properties, 'viewCount');
    schemas.ReactionType['x-deprecated-values'] = { dislike: deprecationOf('dislike') };
    tellDeprecations(schemas.ReactionType);
    writeFileSync(join(folder, name), JSON.stringify(document));
  }
};

/** The reason, with the code in it as each language writes it. */
const reason = (why) =>
  String.raw`Planted: ${why}\. Use (?:\{@code )?.?game\.getById.? instead\. Since 2026-01-01, until 2026-09-01\.?`;

const java = (why, declaration) =>
  String.raw`@deprecated ${reason(why)}\n   \*/\n  @Deprecated\n  public (?:static final )?${declaration}`;
const typescript = (why, declaration) => String.raw`@deprecated ${reason(why)}\n   \*/\n  ${declaration}`;
const go = (why, declaration) => String.raw`//\n\t?// Deprecated: ${reason(why)}\n${declaration}`;
const rust = (why, declaration) => String.raw`#\[deprecated\(\s*note = "${reason(why)}",?\s*\)\]\s*${declaration}`;

/** How each language marks an operation, a member of an input, one of an output, and a value, where it can mark one. */
const MARKS = {
  typescript: [
    ...['list', 'listPages', 'listAll'].map((name) => typescript('game.list', String.raw`${name}\(`)),
    typescript('event.list', String.raw`tail\(`),
    typescript('version', String.raw`version\?:`),
    typescript('extraInfo', String.raw`extraInfo\?:`),
    typescript('viewCount', 'viewCount:'),
    'dislike. is deprecated since 2026-01-01: Planted: dislike',
  ],
  python: [
    ...['def list', 'async def list', 'def list_pages', 'def list_all'].map(
      (name) => String.raw`@deprecated\(\s*"${reason('game.list')}"\s*\)\n    ${name}\(`,
    ),
    `version: .*\\n    """Version label.*Deprecated: ${reason('version')}`,
    `view_count: .*\\n    """.*Deprecated: ${reason('viewCount')}`,
    'dislike. is deprecated since 2026-01-01: Planted: dislike',
  ],
  go: [
    ...['List', 'ListPages', 'ListAll'].map((name) => go('game.list', String.raw`func \(s \*GameService\) ${name}\(`)),
    go('version', '\tVersion '),
    go('extraInfo', '\tExtraInfo '),
    go('viewCount', '\tViewCount '),
    String.raw`\t// Deprecated: ${reason('dislike')}\n\tReactionTypeDislike `,
  ],
  java: [
    ...['list', 'listPages', 'listAll'].map((name) => java('game.list', String.raw`\S+ ${name}\(GameListInput`)),
    java('version', String.raw`String getVersion\(`),
    java('version', String.raw`GameInput version\(`),
    java('viewCount', String.raw`Long getViewCount\(`),
    java('dislike', 'ReactionType DISLIKE '),
  ],
  rust: [
    ...['list', 'list_pages', 'list_all'].map((name) => rust('game.list', String.raw`pub fn ${name}\(`)),
    rust('version', 'pub version:'),
    rust('viewCount', 'pub view_count:'),
    rust('bio', 'pub bio:'),
    rust('dislike', 'Dislike,'),
  ],
};

/** @throws Error that names each mark that an SDK of these documents lacks */
export const checkDeprecations = (folder, language) => {
  const text = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|py|go|java|rs)$/.test(entry.name))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n');
  const missing = MARKS[language].filter((pattern) => !new RegExp(pattern).test(text));
  if (missing.length > 0) throw new Error(`what is deprecated is not marked:\n${missing.join('\n')}`);
  // Descriptions end with a sentence that says the same.
  if (text.includes('Deprecated since')) throw new Error('a deprecation is told twice');
};
