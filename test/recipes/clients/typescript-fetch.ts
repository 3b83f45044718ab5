import { Configuration, GameApi } from './client/index.js';

const { GATEWAY_URL: basePath, GATEWAY_KEY: accessToken } = process.env;
const games = new GameApi(new Configuration({ basePath, accessToken }));
const made = await games.gameCreate({ gameCreateRequest: { json: { title: '星の伝説' } } });
const { id } = made.result.data.json;
const read = await games.gameGetById({ gameGetByIdRequest: { json: { id } } });
console.log(read.result.data.json.title);
