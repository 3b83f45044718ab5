import { Argument, Command } from 'commander';
import { contentInput } from '../../contract/common.ts';
import { readConfig } from '../config.ts';
import { renameTag } from '../content/tag-names.ts';
import { gameKind } from '../game/kind.ts';
import { imageKind } from '../image/kind.ts';
import { listTags } from '../tag/service.ts';
import { slugOf } from '../tag/slug.ts';
import { lengthOf, textOf } from './arguments.ts';
import { CommandError, examples, PROGRAM, withDatabase } from './common.ts';
import { note, print, printable, printJsonLines, printTable } from './output.ts';

const TagName = contentInput.tagNames.element;

const list = (): Command =>
  new Command('list')
    .summary('list tags')
    .description('Lists tags, oldest first: slug, how many games and image posts have it, name.')
    .option(
      '--search <text>',
      'only tags with this text in the name or slug; width, case and kana form do not matter (default: all tags)',
    )
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText('after', examples('tags list', 'tags list --search rpg --json'))
    .action(({ search, json }: { search?: string; json?: true }) =>
      withDatabase(readConfig(), async (db) => {
        const tags = await listTags(db, search);
        if (json)
          printJsonLines(
            tags.map(({ slug, name, gameCount, imagePostCount }) => ({ slug, name, gameCount, imagePostCount })),
          );
        else
          printTable(
            ['SLUG', 'GAMES', 'IMAGE POSTS', 'NAME'],
            tags.map((tag) => [tag.slug, String(tag.gameCount), String(tag.imagePostCount), tag.name]),
          );
      }),
    );

const rename = (): Command =>
  new Command('rename')
    .summary('spell the name of a tag anew')
    .description(
      'Gives a tag another name with the same slug: another case, width or punctuation, without an emoji. Its records ' +
        'show it at once where they are read anew, and within a minute on every instance; search finds them by it when ' +
        'the command ends. Safe while the service runs, and to be run again if it was interrupted.',
    )
    .addArgument(new Argument('<slug>', 'the slug of the tag, from `tags list`'))
    .addArgument(new Argument('<name>', `the new name, ${lengthOf(TagName)}`).argParser(textOf(TagName)))
    .addHelpText('after', examples('tags rename rpg RPG'))
    .action((slug: string, name: string) =>
      withDatabase(readConfig(), async (db) => {
        const own = slugOf(name);
        if (own !== slug) {
          throw new CommandError(
            `"${printable(name)}" has the slug "${own}", not "${printable(slug)}": it would be another tag. ` +
              'Records are filtered by slugs, so the new name must keep the one there is.',
          );
        }
        const renamed = await renameTag(db, [gameKind, imageKind], { slug, name });
        if (!renamed) {
          throw new CommandError(`There is no tag with the slug "${slug}". Find it with: ${PROGRAM} tags list`);
        }
        const { tag, mended } = renamed;
        print(name);
        note(`It was "${printable(tag.name)}". Search finds ${mended} records by another text now.`);
      }),
    );

export const tagsCommand = (): Command =>
  new Command('tags')
    .summary('list tags and spell their names anew')
    .description('Lists tags, and spells their names anew. Whoever uses a tag first names it for all.')
    .addCommand(list())
    .addCommand(rename());
