import createClient from 'openapi-fetch';
import type { paths } from './client/schema.js';

const headers = { Authorization: `Bearer ${process.env.GATEWAY_KEY}` };
const client = createClient<paths>({ baseUrl: process.env.GATEWAY_URL, headers });
const made = await client.POST('/api/trpc/game.create', { body: { json: { title: '星の伝説' } } });
if (!made.data) throw new Error(made.error.error.json.message);
const { id } = made.data.result.data.json;
const read = await client.POST('/api/trpc/game.getById', { body: { json: { id } } });
console.log(read.data?.result.data.json.title);
