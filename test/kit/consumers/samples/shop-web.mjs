// The tests of a consumer that has the TypeScript SDK, which `SDK` names. They run once for each line of the standard input, against
// CONTENT_GATEWAY_URL, and print a line: `passed`, or why one failed.
import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';

const { ApiError, ContentGateway } = await import(process.env.SDK);
const gateway = new ContentGateway({ maxRetries: 0 });

const tests = {
  'shows covers': async () => {
    const page = await gateway.game.list({ limit: 3, page: 1, sortBy: 'views', tagSlugs: ['rpg'] });
    assert.equal(typeof page.total, 'number');
    assert(['eq', 'gte'].includes(page.totalRelation));
    for (const { title, coverUrl, tags } of page.items) {
      assert.equal(typeof title, 'string');
      if (coverUrl !== null) assert.equal(typeof coverUrl, 'string');
      for (const { name } of tags) assert.equal(typeof name, 'string');
    }
  },
  'says that a game is gone': async () => {
    const failure = await gateway.game.getById('none').catch((error) => error);
    assert(failure instanceof ApiError);
    assert.equal(failure.reason, 'GAME_NOT_FOUND');
  },
};

const run = async () => {
  for (const [name, test] of Object.entries(tests)) {
    // As Jest tells it.
    globalThis.expect = { getState: () => ({ currentTestName: name }) };
    await test();
  }
  return 'passed';
};

for await (const _ of createInterface(process.stdin)) {
  console.log(await run().catch(({ message }) => message.replaceAll('\n', ' ')));
}
