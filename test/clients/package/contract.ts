// This program of a user imports the contract: its types, and at run time its schemas.
import { initClient } from '@ts-rest/core';
import { contract } from 'content-gateway/contract';

const client = initClient(contract, { baseUrl: process.argv[2] ?? '', baseHeaders: {} });
const body = contract.game.list.body.parse({ json: { limit: 1, page: 1 } });
const reply = await client.game.list({ body });
if (reply.status !== 200) throw new Error(reply.body.error.json.message);
const [game] = reply.body.result.data.json.items;
// @ts-expect-error: there is no such member, so that the types are not `any`.
if (game?.titel !== undefined) throw new Error('a member that the contract does not know');
console.log(game?.title, contract.game.list.body.safeParse({ json: { limit: 0 } }).success);
