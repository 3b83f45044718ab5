import { migrations } from '../../migrations/index.ts';
import { auditEntity } from '../auth/audit/log.ts';
import { contentEntities, counterEntity, hiddenEntities, tagEntity } from '../content/entity.ts';
import type { Schema } from '../db/connection.ts';
import { gameKind } from '../game/kind.ts';
import { imageKind } from '../image/kind.ts';
import { apiKeyEntity, keyQuotaEntity } from '../auth/entity.ts';
import { consumerContractEntity, consumerUseEntity, failedCallsEntity, keyUseEntity } from '../consumers/entity.ts';
import { eventEntities } from '../event/outbox/entity.ts';
import { idempotencyEntity } from '../auth/idempotency/records.ts';
import type { SearchKind } from '../search/document.ts';
import { searchEntities } from '../search/entity.ts';
import { maintenanceEntity } from '../rpc/maintenance/entity.ts';
import { deploymentEntity } from './deployment/entity.ts';
import { instanceEntity } from './instances/entity.ts';
import { webhookEntities } from '../event/webhook/entity.ts';
import { invitationEntity, userEntity, userSearch } from '../user/entity.ts';

/** The kinds of documents that search finds. */
export const searchKinds: readonly SearchKind[] = [gameKind.search, imageKind.search, userSearch];

/** All tables of the service. */
export const schema: Schema = {
  entities: (engine) => [
    userEntity(engine),
    apiKeyEntity(engine),
    invitationEntity(engine),
    keyQuotaEntity(engine),
    keyUseEntity(engine),
    consumerUseEntity(engine),
    failedCallsEntity(engine),
    consumerContractEntity(engine),
    tagEntity(engine),
    ...contentEntities(engine, gameKind),
    ...contentEntities(engine, imageKind),
    counterEntity(engine),
    ...hiddenEntities(engine),
    auditEntity(engine),
    maintenanceEntity(engine),
    instanceEntity(engine),
    deploymentEntity(engine),
    ...searchEntities(engine),
    idempotencyEntity(engine),
    ...eventEntities(engine),
    ...webhookEntities(engine),
  ],
  migrations,
};
