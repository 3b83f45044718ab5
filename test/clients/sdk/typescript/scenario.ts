import { ApiError, ContentGateway } from 'content-gateway-client';

const gateway = new ContentGateway();
const anyone = new ContentGateway({ apiKey: null });
const reader = new ContentGateway({ apiKey: process.env['GATEWAY_READ_KEY'] });

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

const walked: string[] = [];
for await (const { title } of anyone.game.listAll({ limit: 2, search: '巻', sortBy: 'oldest' })) walked.push(title);
console.log(`walk 巻: ${walked.join(', ')}`);

const named = { headers: { 'X-Request-Id': 'scenario' } };
const { status, requestId, attempts } = await anyone.game.getById({ id: created.id }, named).withResponse();
console.log(`reply: ${status} to ${requestId}, attempts ${attempts}`);

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

const failureOf = async (call: Promise<unknown>): Promise<unknown> => {
  try {
    await call;
    return undefined;
  } catch (error) {
    return error;
  }
};

const refused = async (call: Promise<unknown>): Promise<void> => {
  const failure = await failureOf(call);
  if (failure === undefined) {
    console.log('not refused');
    return;
  }
  if (!(failure instanceof ApiError)) throw failure;
  const { status: code, reason, issues } = failure;
  const faults = issues.map(({ path, code: kind, message }) => `${path} ${kind} ${message}`);
  console.log(`${code} ${reason}${faults.length > 0 ? `: ${faults.join('; ')}` : ''}`);
};

await refused(gateway.game.create({ title: '', coverUrl: 'cover' }));
await refused(gateway.game.create({ title: '二度目' }, once));
await refused(anyone.game.create({ title: '無名' }));
await refused(reader.game.create({ title: '読者' }));
await refused(anyone.game.getById({ id: 'nothing' }));
const failure = await failureOf(anyone.game.getById({ id: 'nothing' }, named));
if (failure instanceof ApiError) console.log(failure.message);
