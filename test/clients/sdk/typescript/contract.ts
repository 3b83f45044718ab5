// Calls a sandbox as a consumer's tests do, and reads some of what comes. With CONTENT_GATEWAY_CONTRACT, the SDK records that.
import assert from 'node:assert/strict';
import test from 'node:test';
import { types } from 'node:util';
import { ApiError, ContentGateway } from 'content-gateway-client';

const gateway = new ContentGateway();
const isRecorded = process.env['CONTENT_GATEWAY_CONTRACT'] !== undefined;

await test('reads some members of a list', async () => {
  const { items } = await gateway.game.list({ limit: 2, sortBy: 'latest' });
  assert.equal(types.isProxy(items), isRecorded);
  await gateway.game.list({ limit: 5, sortBy: 'latest' });
  for (const { title, tags } of items) for (const { name } of tags) assert(title.length + name.length > 1);
});

await test('walks', async () => {
  let count = 0;
  for await (const { record } of gateway.event.tail({ start: 'earliest', types: ['game.created'] })) {
    assert(record.id);
    break;
  }
  for await (const { id } of gateway.game.listAll({ limit: 2, timeRange: 'all' }, { maxRecords: 3 }))
    count += id ? 1 : 0;
  assert.equal(count, 3);
});

await test('fails', async () => {
  const failed = await gateway.game.getById('none').catch((error: unknown) => error);
  assert(failed instanceof ApiError && failed.reason === 'GAME_NOT_FOUND');
});

await test('reads what it has written, part by part', async () => {
  const downloads = [{ name: 'Mirror', url: 'https://a.example/x' }];
  const made = await gateway.game.create({ title: 'A game 🎮', tagNames: ['RPG'], extraInfo: { downloads } });
  const [download] = made.extraInfo.downloads;
  assert('url' in (download ?? {}));
  assert.equal(made.author.nickname.length > 0, true);
  const { socialLinks } = await gateway.user.updateProfile({ bio: null, socialLinks: { mine: '@me' } });
  assert.deepEqual(Object.keys(socialLinks), ['mine']);
});

await test('has values that behave as those that came', async () => {
  const { data, body } = await gateway.event.list({ limit: 2, start: 'earliest' }).withResponse();
  const came = (JSON.parse(body) as { result: { data: { json: typeof data } } }).result.data.json;
  assert.deepEqual(data, came);
  assert.deepEqual(JSON.parse(JSON.stringify(data)), came);
  assert.deepEqual(structuredClone({ data }), { data: came });
  assert.deepEqual({ ...data }, came);
  assert.equal(types.isProxy(structuredClone(data)), false);

  const { items } = data;
  const [first, second] = items;
  assert(first && second && Array.isArray(items) && first === items[0] && items.indexOf(second) === 1);
  assert.deepEqual(items.slice(1).concat(first), [second, first]);
  items.reverse();
  assert.equal(items.at(-1), first);
  Object.freeze(first);
  assert.equal(first.record, first.record);
  second.id = 'another';
  assert.equal(Object.assign(second, { more: { own: 1 } }).more.own, 1);
  assert.deepEqual(second, { ...came.items[1], id: 'another', more: { own: 1 } });
});
