import { Api } from './client/client.js';

const { GATEWAY_URL: baseUrl, GATEWAY_KEY } = process.env;
const baseApiParams = { headers: { Authorization: `Bearer ${GATEWAY_KEY}` } };
const { api } = new Api({ baseUrl, baseApiParams });
const made = await api.gameCreate({ json: { title: '星の伝説' } });
const read = await api.gameGetById({ json: { id: made.data.result.data.json.id } });
console.log(read.data.result.data.json.title);
