import { ContentGateway } from 'content-gateway-client';

const gateway = new ContentGateway();

describe('the shop', () => {
  test('shows the most liked', async () => {
    const { items } = await gateway.game.list({ limit: 1, sortBy: 'likes' });
    expect(items).toMatchObject([{ title: expect.any(String) }]);
  });
});
