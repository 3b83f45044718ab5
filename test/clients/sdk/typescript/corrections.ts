// Prints what corrections.txt holds: an author changes and deletes what it published. Null clears; what is left out stays.
import { ApiError, ContentGateway, type Game } from 'content-gateway-client';

const gateway = new ContentGateway();

const print = (step: string, { title, version, isFree, extraInfo }: Game): void => {
  const { originalAuthor, fileSize, platforms } = extraInfo;
  const author = originalAuthor ?? 'none';
  const platform = platforms[0] ?? 'none';
  console.log(`${step}: ${title}, ${version ?? 'none'}, by ${author}, ${fileSize}, on ${platform}, free: ${isFree}`);
};

const game = await gateway.game.create({
  title: '書き間違い',
  version: 'Ver1.0',
  isFree: false,
  extraInfo: { originalAuthor: '青い丘工房', fileSize: '1.5GB', platforms: ['Windows'] },
});
print('create', game);

const { id } = game;
const cleared = { originalAuthor: null, platforms: [] };
print('clear', await gateway.game.update({ id, title: '直した題', version: null, extraInfo: cleared }));
print('set', await gateway.game.update({ id, extraInfo: { originalAuthor: '赤い丘工房' } }));

const listOwn = async (): Promise<void> => {
  const { items } = await gateway.game.list({ authorId: game.author.id });
  console.log(`by author: ${items.map(({ title }) => title).join(', ') || 'none'}`);
};

const deleteTwice = async (own: { id: string }, remove: (id: string) => Promise<{ id: string }>): Promise<void> => {
  const gone = await remove(own.id);
  try {
    await remove(own.id);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    console.log(`delete: ${gone.id === own.id ? 'the same' : 'another'}, then ${error.status} ${error.reason}`);
  }
};

await listOwn();
await deleteTwice(game, (one) => gateway.game.delete(one));
await listOwn();
const post = await gateway.image.create({ title: '路地裏', images: ['https://images.example.com/rain.webp'] });
await deleteTwice(post, (one) => gateway.image.delete(one));
