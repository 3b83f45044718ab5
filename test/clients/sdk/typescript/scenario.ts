import { ContentGateway, GatewayError } from 'content-gateway-sdk';

const { GATEWAY_URL: baseUrl = '', GATEWAY_KEY: apiKey = '', GATEWAY_READ_KEY: readKey = '' } = process.env;

const gateway = new ContentGateway({ baseUrl, apiKey });
const anyone = new ContentGateway({ baseUrl });
const reader = new ContentGateway({ baseUrl, apiKey: readKey });

const me = await gateway.user.me();
console.log(`me: ${me.nickname}, may ${me.apiKey.scopes.join(', ')}`);

const empty = await anyone.game.list({ limit: 20, page: 1 });
console.log(`list: ${empty.items.length} of ${empty.total}`);

const created = await gateway.game.create({
  title: '星の伝説 〜𠮷野の丘〜',
  description: '失われた星を探す。',
  gameType: 'RPG',
  tagNames: ['ファンタジー', 'Dragons', '长篇'],
  extraInfo: {
    originalAuthor: '青い丘工房',
    downloads: [{ name: 'Mirror 1', url: 'https://files.example.com/hoshi.zip' }],
  },
});
console.log(`create: ${created.title}, ${created.gameType}, tagged ${created.tags.map(({ name }) => name).join(', ')}`);

const read = await anyone.game.getById({ id: created.id });
const mirrors = read.extraInfo.downloads.map(({ name }) => name).join(', ');
console.log(`read: ${read.description} By ${read.extraInfo.originalAuthor}, from ${mirrors}`);

for (let turn = 0; turn < 2; turn += 1) {
  const { favorited, favoriteCount } = await gateway.game.toggleFavorite({ gameId: created.id });
  console.log(`favorite: ${favorited}, ${favoriteCount}`);
}

const batch = await gateway.game.batchCreate({
  games: [{ title: '一の巻' }, { title: '二の巻' }, { title: '三の巻' }],
});
console.log(`batch: ${batch.items.map(({ title }) => title).join(', ')}`);

const found = await anyone.game.list({ limit: 20, page: 1, search: '巻', sortBy: 'oldest' });
console.log(`search 巻: ${found.items.length} of ${found.total}`);

const post = await gateway.image.create({
  title: '路地裏',
  images: ['https://images.example.com/rain.webp'],
  description: '雨の夜',
});
console.log(`describe: ${post.description}`);

const cleared = await gateway.image.update({ id: post.id, description: null });
console.log(`clear: ${cleared.description ?? 'none'}`);

const once = { idempotencyKey: 'scenario' };
const first = await gateway.game.create({ title: '一度きり' }, once);
const again = await gateway.game.create({ title: '一度きり' }, once);
console.log(`again: ${again.title}, ${again.id === first.id ? 'the same' : 'another'}`);

const refused = async (call: Promise<unknown>): Promise<void> => {
  try {
    await call;
    throw new Error('The gateway refused nothing.');
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const issues = error.issues.map(({ path, code, message }) => `${path} ${code} ${message}`);
    console.log(`${error.status} ${error.reason}${issues.length > 0 ? `: ${issues.join('; ')}` : ''}`);
  }
};

await refused(gateway.game.create({ title: '', coverUrl: 'cover' }));
await refused(gateway.game.create({ title: '二度目' }, once));
await refused(anyone.game.create({ title: '無名' }));
await refused(reader.game.create({ title: '読者' }));
await refused(anyone.game.getById({ id: 'nothing' }));
