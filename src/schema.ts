import { migrations } from '../migrations/index.ts';
import { counterEntity } from './content/counters.ts';
import type { Schema } from './db/connection.ts';
import { gameEntities } from './game/entity.ts';
import { imageEntities } from './image/entity.ts';
import { apiKeyEntity } from './key/entity.ts';
import { tagEntity } from './tag/entity.ts';
import { userEntity } from './user/entity.ts';

/** All tables of the service. */
export const schema: Schema = {
  entities: (engine) => [
    userEntity(engine),
    apiKeyEntity(engine),
    tagEntity(engine),
    ...gameEntities(engine),
    ...imageEntities(engine),
    counterEntity(engine),
  ],
  migrations,
};
