import { type MigrationInterface, type QueryRunner, Table, type TableOptions } from 'typeorm';
import { columnTypes, type Engine, engineOf } from './columns.ts';

type Column = TableOptions['columns'] extends (infer C)[] | undefined ? C : never;

const cascade = (name: string, column: string, referencedTableName: string) => ({
  name,
  columnNames: [column],
  referencedTableName,
  referencedColumnNames: ['id'],
  onDelete: 'CASCADE',
  // Written out because MariaDB's own default reads back as RESTRICT, which is not what the entities say.
  onUpdate: 'NO ACTION',
});
const index = (name: string, columnNames: string[], isUnique = false) => ({ name, columnNames, isUnique });

/** Users, keys, tags, games, image posts, and what hangs on them. */
const tables = (engine: Engine): TableOptions[] => {
  const { id, hash, text, longText, time, count, serial, small, flag } = columnTypes(engine);
  const primary = { isPrimary: true };
  const nullable = { isNullable: true };
  const zero = { default: '0' };

  const content: Column[] = [
    { name: 'id', ...id, ...primary },
    { name: 'author_id', ...id },
    { name: 'title', ...text(200) },
    { name: 'description', ...longText, ...nullable },
    { name: 'view_count', ...count, ...zero },
    { name: 'like_count', ...count, ...zero },
    { name: 'dislike_count', ...count, ...zero },
    { name: 'favorite_count', ...count, ...zero },
    { name: 'search_text', ...longText },
    { name: 'created_at', ...time },
    { name: 'updated_at', ...time },
  ];

  const links = (record: string, parent: string): TableOptions[] => {
    const recordId = { name: `${record}_id`, ...id, ...primary };
    const userId = { name: 'user_id', ...id, ...primary };
    const table = (suffix: string, columns: Column[], second: string, secondTable: string): TableOptions => {
      const name = `${record}_${suffix}`;
      return {
        name,
        columns,
        indices: [
          suffix === 'tags'
            ? index(`${name}_tag`, ['tag_id', `${record}_id`])
            : index(`${name}_record`, [`${record}_id`]),
        ],
        foreignKeys: [
          cascade(`fk_${name}_record`, `${record}_id`, parent),
          cascade(`fk_${name}_${second}`, `${second}_id`, secondTable),
        ],
      };
    };
    return [
      table(
        'tags',
        [recordId, { name: 'tag_id', ...serial, ...primary }, { name: 'position', ...small }],
        'tag',
        'tags',
      ),
      table('favorites', [userId, recordId], 'user', 'users'),
      table('reactions', [userId, recordId, { name: 'type', ...text(7) }], 'user', 'users'),
    ];
  };

  return [
    {
      name: 'users',
      columns: [
        { name: 'id', ...id, ...primary },
        { name: 'nickname', ...text(50) },
        { name: 'bio', ...longText, ...nullable },
        { name: 'pronouns', ...text(50), ...nullable },
        { name: 'website', ...text(2048), ...nullable },
        { name: 'location', ...text(100), ...nullable },
        { name: 'social_links', ...longText },
        { name: 'avatar', ...text(2048), ...nullable },
        { name: 'game_count', ...count, ...zero },
        { name: 'image_post_count', ...count, ...zero },
        { name: 'search_text', ...longText },
        { name: 'created_at', ...time },
        { name: 'updated_at', ...time },
      ],
    },
    {
      name: 'api_keys',
      columns: [
        { name: 'id', ...id, ...primary },
        { name: 'user_id', ...id },
        { name: 'key_hash', ...hash },
        { name: 'prefix', ...text(12) },
        { name: 'name', ...text(100) },
        { name: 'scopes', ...text(200) },
        { name: 'expires_at', ...time, ...nullable },
        { name: 'revoked_at', ...time, ...nullable },
        { name: 'last_used_at', ...time, ...nullable },
        { name: 'created_at', ...time },
      ],
      indices: [index('api_keys_hash', ['key_hash'], true), index('api_keys_user', ['user_id'])],
      foreignKeys: [cascade('fk_api_keys_user', 'user_id', 'users')],
    },
    {
      name: 'tags',
      columns: [
        { name: 'id', ...serial, ...primary, isGenerated: true, generationStrategy: 'increment' },
        { name: 'slug', ...text(200) },
        { name: 'name', ...text(50) },
        { name: 'game_count', ...count, ...zero },
        { name: 'image_post_count', ...count, ...zero },
      ],
      indices: [index('tags_slug', ['slug'], true)],
    },
    {
      name: 'games',
      columns: [
        ...content,
        { name: 'cover_url', ...text(2048), ...nullable },
        { name: 'game_type', ...text(32), ...nullable },
        { name: 'is_free', ...flag },
        { name: 'version', ...text(32), ...nullable },
        { name: 'original_author', ...text(200), ...nullable },
        { name: 'extra_info', ...longText },
      ],
      indices: [
        index('games_latest', ['created_at', 'id']),
        index('games_type_latest', ['game_type', 'created_at', 'id']),
        index('games_views', ['view_count', 'created_at', 'id']),
        index('games_type_views', ['game_type', 'view_count', 'created_at', 'id']),
        index('games_likes', ['like_count', 'created_at', 'id']),
        index('games_favorites', ['favorite_count', 'created_at', 'id']),
        index('games_author', ['author_id', 'created_at']),
        index('games_original_author', ['original_author', 'id']),
      ],
      foreignKeys: [cascade('fk_games_author', 'author_id', 'users')],
    },
    ...links('game', 'games'),
    {
      name: 'image_posts',
      columns: [...content, { name: 'images', ...longText }],
      indices: [
        index('image_posts_latest', ['created_at', 'id']),
        index('image_posts_views', ['view_count', 'created_at', 'id']),
        index('image_posts_author', ['author_id', 'created_at']),
      ],
      foreignKeys: [cascade('fk_image_posts_author', 'author_id', 'users')],
    },
    ...links('image_post', 'image_posts'),
    {
      name: 'counters',
      columns: [
        { name: 'name', ...text(64), ...primary },
        { name: 'n', ...count },
      ],
    },
  ];
};

export class Content1763600000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const table of tables(engineOf(runner))) await runner.createTable(new Table(table));
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of tables(engineOf(runner)).toReversed()) await runner.dropTable(table.name);
  }
}
