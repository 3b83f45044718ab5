import { Argument, Command } from 'commander';
import { contentInput } from '../../../../contract/common.ts';
import { systemActor } from '../../../auth/audit/log.ts';
import { deleteUnusedTags, findUnusedTags } from '../../moderation/unused-tags.ts';
import { countToMerge, mergeTags, MergeError } from '../../../content/write/tag-merge.ts';
import { renameTag } from '../../../content/write/tag-names.ts';
import { gameKind } from '../../../game/kind.ts';
import { imageKind } from '../../../image/kind.ts';
import { listTags } from '../../../content/tag/service.ts';
import { slugOf } from '../../../content/tag/slug.ts';
import { lengthOf, textOf } from '../shared/arguments.ts';
import { CommandError, examples, PROGRAM, readSettings, withDatabase } from '../shared/common.ts';
import { note, print, printable, printJsonLines, printTable } from '../shared/output.ts';

const TagName = contentInput.tagNames.element;

const list = (): Command =>
  new Command('list')
    .summary('list tags')
    .description('Lists tags, oldest first: slug, number of games and image posts, name.')
    .option(
      '--search <text>',
      'only tags with this text in the name or slug; width, case and kana form do not matter (default: all tags)',
    )
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText('after', examples('tags list', 'tags list --search rpg --json'))
    .action(({ search, json }: { search?: string; json?: true }) =>
      withDatabase(readSettings(), async (db) => {
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

/** Runs what may find that tags cannot be merged, which the operator is told. */
const merging = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    throw error instanceof MergeError ? new CommandError(error.message) : error;
  }
};

const rename = (): Command =>
  new Command('rename')
    .summary('rename a tag')
    .description(
      'Gives a tag another name. With the same slug (another case, width or punctuation), every instance shows the new name ' +
        'within a minute, and search finds it when the command ends. With another slug, shows how many records have the tag, ' +
        'and with --yes gives them a tag of that name, a hundred at a time; the old slug and the old name lead to it, as ' +
        'after merge, until the tag is renamed back. Safe while the service runs. If it was interrupted, run it again.',
    )
    .addArgument(new Argument('<slug>', 'the slug of the tag, from `tags list`'))
    .addArgument(new Argument('<name>', `the new name, ${lengthOf(TagName)}`).argParser(textOf(TagName)))
    .option('--yes', 'rename it, if the name has another slug')
    .addHelpText('after', examples('tags rename rpg RPG', 'tags rename rpg role-playing --yes'))
    .action((slug: string, name: string, { yes }: { yes?: true }) =>
      withDatabase(readSettings(), async (db) => {
        const [into, kinds] = [slugOf(name), [gameKind, imageKind]];
        if (into !== slug && !yes) {
          const records = await merging(countToMerge(db, kinds, { from: slug, into, name }));
          print(`${records} records would get "${into}" for "${printable(slug)}".`);
          note('Nothing was changed: add --yes to rename it.');
          return;
        }
        if (into !== slug) {
          const { from, moved } = await merging(mergeTags(db, kinds, { from: slug, into, name }, systemActor()));
          print(name);
          note(`It was "${printable(from.name)}". ${moved} records got the slug "${into}" for "${printable(slug)}".`);
          return;
        }
        const renamed = await renameTag(db, kinds, { slug, name }, undefined, systemActor());
        if (!renamed) {
          throw new CommandError(`There is no tag with the slug "${slug}". Find it with: ${PROGRAM} tags list`);
        }
        const { tag, mended } = renamed;
        print(name);
        note(`It was "${printable(tag.name)}". Updated the search text of ${mended} records.`);
      }),
    );

const merge = (): Command =>
  new Command('merge')
    .summary('have one tag stand in for another')
    .description(
      'Shows how many records have the first tag. With --yes, gives them the second one in its place, a hundred at a time. ' +
        'From then on whoever publishes with the first name gets the second tag and, within a minute, filters by the first ' +
        'slug find its records. This cannot be undone. Safe while the service runs. If it was interrupted, run it again.',
    )
    .addArgument(new Argument('<from>', 'the slug of the tag that goes, from `tags list`'))
    .addArgument(new Argument('<into>', 'the slug of the tag that takes its place'))
    .option('--yes', 'merge them')
    .option('--json', 'print a JSON object instead of a sentence')
    .addHelpText('after', examples('tags merge role-playing rpg', 'tags merge role-playing rpg --yes'))
    .action((from: string, into: string, { yes, json }: { yes?: true; json?: true }) =>
      withDatabase(readSettings(), async (db) => {
        const kinds = [gameKind, imageKind];
        const records = yes
          ? (await merging(mergeTags(db, kinds, { from, into }, systemActor()))).moved
          : await merging(countToMerge(db, kinds, { from, into }));
        if (json) printJsonLines([{ from, into, records, merged: yes === true }]);
        else print(`${records} records ${yes ? 'got' : 'would get'} "${printable(into)}" for "${printable(from)}".`);
        if (!yes) note(`Merge them with: ${PROGRAM} tags merge ${from} ${into} --yes`);
      }),
    );

const prune = (): Command =>
  new Command('prune')
    .summary('delete tags that no record has')
    .description(
      'Lists the tags that no game or image post has, hidden ones included. With --yes, deletes them, a hundred at a time. ' +
        'A tag that was merged into another one goes with that one. Publishing with the name of a deleted tag makes it ' +
        'anew. Safe while the service runs, once all its instances are of this version.',
    )
    .option('--merged', 'also tags that were merged into others: their slugs and names lead there no more')
    .option('--yes', 'delete them')
    .option('--json', 'print one JSON object per line instead of a table')
    .addHelpText('after', examples('tags prune', 'tags prune --yes'))
    .action(({ merged = false, yes, json }: { merged?: boolean; yes?: true; json?: true }) =>
      withDatabase(readSettings(), async (db) => {
        const tags = await findUnusedTags(db, { merged });
        const deleted = yes ? await deleteUnusedTags(db, tags, systemActor()) : [];
        const isGone = new Set(deleted.map(({ slug }) => slug));
        if (json) printJsonLines(tags.map(({ slug, name }) => ({ slug, name, deleted: isGone.has(slug) })));
        else
          printTable(
            ['SLUG', 'NAME'],
            tags.map(({ slug, name }) => [slug, name]),
          );
        if (yes) note(`Deleted ${deleted.length}.`);
        else note(`Nothing was deleted. Delete with: ${PROGRAM} tags prune${merged ? ' --merged' : ''} --yes`);
      }),
    );

export const tagsCommand = (): Command =>
  new Command('tags')
    .summary('list, rename, merge and prune tags')
    .description('Lists, renames, merges and prunes tags. A tag is named as its first user spelled it.')
    .addCommand(list())
    .addCommand(rename())
    .addCommand(merge())
    .addCommand(prune());
