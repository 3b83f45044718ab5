import { gameCreate, gameGetById } from './client/client.js';
const headers = { Authorization: `Bearer ${process.env.GATEWAY_KEY}` };
const made = await gameCreate({ json: { title: '星の伝説' } }, { headers });
if (made.status !== 200) throw new Error(made.data.error.json.message);
const read = await gameGetById({ json: { id: made.data.result.data.json.id } });
if (read.status !== 200) throw new Error(read.data.error.json.message);
console.log(read.data.result.data.json.title);
