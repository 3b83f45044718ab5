// The tests of a consumer that has the client of tRPC. They run once for each line of the standard input, against CONTENT_GATEWAY_URL,
// and print a line: `passed`, or why one failed.
import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';
import { createTRPCClient, httpLink, TRPCClientError } from '@trpc/client';
import superjson from 'superjson';

const { CONTENT_GATEWAY_URL, CONTENT_GATEWAY_API_KEY } = process.env;
let name = '';
const gateway = createTRPCClient({
  links: [
    httpLink({
      url: `${CONTENT_GATEWAY_URL}/api/trpc`,
      transformer: superjson,
      methodOverride: 'POST',
      headers: () => ({ Authorization: `Bearer ${CONTENT_GATEWAY_API_KEY}`, 'Test-Name': encodeURIComponent(name) }),
    }),
  ],
});

const tests = {
  // It leaves out `sortBy` and `timeRange`: the newest come first, of all times.
  'ranks games': async () => {
    const { items, nextCursor } = await gateway.game.list.query({ limit: 2, page: 1 });
    assert.deepEqual(
      items.map(({ title, isFree }) => [title, isFree]),
      [
        ['Three', true],
        ['Two', false],
      ],
    );
    assert(nextCursor === null || typeof nextCursor === 'string');
    const rest = await gateway.game.list.query({ limit: 2, cursor: nextCursor ?? '' });
    assert(rest.items.some(({ title }) => title === 'One'));
    for (const { likeCount, author, viewer } of items) {
      assert(Number.isInteger(likeCount) && likeCount >= 0);
      assert.equal(typeof author.nickname, 'string');
      if (viewer !== null) assert.equal(typeof viewer.favorited, 'boolean');
    }
  },
  'says who it is': async () => {
    const { nickname, avatar, createdAt } = await gateway.user.me.query();
    assert.equal(typeof nickname, 'string');
    if (avatar !== null) assert.equal(typeof avatar, 'string');
    assert(Number.isFinite(Date.parse(createdAt)));
  },
  'says that a post is gone': async () => {
    const failure = await gateway.image.getById.query({ id: 'none' }).catch((error) => error);
    assert(failure instanceof TRPCClientError);
    assert.equal(failure.data.reason, 'IMAGE_POST_NOT_FOUND');
  },
};

const run = async () => {
  for (const [own, test] of Object.entries(tests)) {
    name = own;
    await test();
  }
  return 'passed';
};

for await (const _ of createInterface(process.stdin)) {
  console.log(await run().catch(({ message }) => message.replaceAll('\n', ' ')));
}
