import { client } from './client/client.gen.js';
import { gameCreate, gameGetById } from './client/index.js';

client.setConfig({ baseUrl: process.env.GATEWAY_URL, auth: process.env.GATEWAY_KEY });
const made = await gameCreate({ body: { json: { title: '星の伝説' } }, throwOnError: true });
const { id } = made.data.result.data.json;
const read = await gameGetById({ body: { json: { id } }, throwOnError: true });
console.log(read.data.result.data.json.title);
