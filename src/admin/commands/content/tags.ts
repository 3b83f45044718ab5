import { counted } from '../../../../contract/text.ts';
import { contentInput } from '../../../../contract/common.ts';
import { systemActor } from '../../../auth/audit/log.ts';
import { deleteUnusedTags, findUnusedTags } from '../../moderation/unused-tags.ts';
import { countToMerge, mergeTags } from '../../../content/write/tag-merge.ts';
import { renameTag } from '../../../content/write/tag-names.ts';
import { listTags } from '../../../content/tag/service.ts';
import { slugOf } from '../../../content/tag/slug.ts';
import { lengthOf, textOf } from '../shared/arguments.ts';
import {
  argument,
  commandGroup,
  databaseCommand,
  flag,
  jsonLines,
  jsonNotSentence,
  option,
} from '../shared/command.ts';
import { CommandError, PROGRAM } from '../shared/common.ts';
import { note, print, printable, printJsonLines, printRows } from '../shared/output.ts';
import { publishedKinds } from '../../moderation/kinds.ts';

const TagName = contentInput.tagNames.element;

const list = databaseCommand({
  summary: 'list tags',
  description: 'Lists tags, oldest first: slug, number of games and image posts, name.',
  input: {
    search: option(
      '<text>',
      'only tags with this text in the name or slug; width, case and kana form do not matter (default: all tags)',
    ),
    json: jsonLines,
  },
  examples: ['', '--search rpg --json'],
  run: async (db, { search, json }) => {
    const tags = await listTags(db, search);
    printRows(
      tags.map(({ slug, name, gameCount, imagePostCount }) => ({ slug, name, gameCount, imagePostCount })),
      { SLUG: 'slug', GAMES: 'gameCount', 'IMAGE POSTS': 'imagePostCount', NAME: 'name' },
      json,
    );
  },
});

const rename = databaseCommand({
  summary: 'rename a tag',
  description:
    'Gives a tag another name. With the same slug (another case, width or punctuation), every instance shows the new name ' +
    'within a minute, and search finds it when the command ends. With another slug, shows how many records have the tag, ' +
    'and with --yes gives them a tag of that name, a hundred at a time; the old slug and the old name lead to it, as ' +
    'after merge, until the tag is renamed back. Safe while the service runs. If it was interrupted, run it again.',
  input: {
    slug: argument('<slug>', 'the slug of the tag, from `tags list`'),
    name: argument('<name>', `the new name, ${lengthOf(TagName)}`, textOf(TagName)),
    yes: flag('rename it, if the name has another slug'),
  },
  examples: ['rpg RPG', 'rpg role-playing --yes'],
  run: async (db, { slug, name, yes }) => {
    const into = slugOf(name);
    if (into !== slug && !yes) {
      const records = await countToMerge(db, publishedKinds, { from: slug, into, name });
      print(`${counted(records, 'record')} would get "${into}" for "${printable(slug)}".`);
      note('Nothing was changed: add --yes to rename it.');
      return;
    }
    if (into !== slug) {
      const { from, moved } = await mergeTags(db, publishedKinds, { from: slug, into, name }, systemActor());
      print(name);
      note(
        `It was "${printable(from.name)}". ${counted(moved, 'record')} got the slug "${into}" for "${printable(slug)}".`,
      );
      return;
    }
    const renamed = await renameTag(db, publishedKinds, { slug, name }, undefined, systemActor());
    if (!renamed) throw new CommandError(`There is no tag with the slug "${slug}". Find it with: ${PROGRAM} tags list`);
    const { tag, mended } = renamed;
    print(name);
    note(`It was "${printable(tag.name)}". Updated the search text of ${counted(mended, 'record')}.`);
  },
});

const merge = databaseCommand({
  summary: 'have one tag stand in for another',
  description:
    'Shows how many records have the first tag. With --yes, gives them the second one in its place, a hundred at a time. ' +
    'From then on users who publish with the first name get the second tag and, within a minute, filters by the first ' +
    'slug find its records. This cannot be undone. Safe while the service runs. If it was interrupted, run it again.',
  input: {
    from: argument('<from>', 'the slug of the tag that goes, from `tags list`'),
    into: argument('<into>', 'the slug of the tag that takes its place'),
    yes: flag('merge them'),
    json: jsonNotSentence,
  },
  examples: ['role-playing rpg', 'role-playing rpg --yes'],
  run: async (db, { from, into, yes, json }) => {
    const records = yes
      ? (await mergeTags(db, publishedKinds, { from, into }, systemActor())).moved
      : await countToMerge(db, publishedKinds, { from, into });
    if (json) printJsonLines([{ from, into, records, merged: yes }]);
    else
      print(
        `${counted(records, 'record')} ${yes ? 'got' : 'would get'} "${printable(into)}" for "${printable(from)}".`,
      );
    if (!yes) note(`Merge them with: ${PROGRAM} tags merge ${from} ${into} --yes`);
  },
});

const prune = databaseCommand({
  summary: 'delete tags that no record has',
  description:
    'Lists the tags that no game or image post has, hidden ones included. With --yes, deletes them, a hundred at a time. ' +
    'A tag that was merged into another one goes with that one. Publishing with the name of a deleted tag makes it ' +
    'anew. Safe while the service runs, once all its instances are of this version.',
  input: {
    merged: flag('also tags that were merged into others: their slugs and names lead there no more'),
    yes: flag('delete them'),
    json: jsonLines,
  },
  examples: ['', '--yes'],
  run: async (db, { merged, yes, json }) => {
    const tags = await findUnusedTags(db, { merged });
    const deleted = yes ? await deleteUnusedTags(db, tags, systemActor()) : [];
    const isGone = new Set(deleted.map(({ slug }) => slug));
    printRows(
      tags.map(({ slug, name }) => ({ slug, name, deleted: isGone.has(slug) })),
      { SLUG: 'slug', NAME: 'name' },
      json,
    );
    if (yes) note(`Deleted ${deleted.length}.`);
    else note(`Nothing was deleted. Delete with: ${PROGRAM} tags prune${merged ? ' --merged' : ''} --yes`);
  },
});

export const tagsCommand = commandGroup(
  'list, rename, merge and prune tags',
  'Lists, renames, merges and prunes tags. A tag is named as its first user spelled it.',
  { list, rename, merge, prune },
);
