import { Content1763600000001 } from './0001-content.ts';
import { TagIds1763700000002 } from './0002-tag-ids.ts';
import { Search1763700000003 } from './0003-search.ts';
import { ImageSummaries1763800000004 } from './0004-image-summaries.ts';
import { Idempotency1763900000005 } from './0005-idempotency.ts';
import { KeyQuotas1764000000006 } from './0006-key-quotas.ts';
import { Care1764100000007 } from './0007-care.ts';
import { Takedowns1764200000008 } from './0008-takedowns.ts';
import { Maintenance1764300000009 } from './0009-maintenance.ts';
import { Instances1764400000010 } from './0010-instances.ts';
import { Events1764500000011 } from './0011-events.ts';
import { Webhooks1764600000012 } from './0012-webhooks.ts';
import { Names1764700000013 } from './0013-names.ts';
import { WebhookGenerations1764800000014 } from './0014-webhook-generations.ts';
import { ConsumerUses1764900000015 } from './0015-consumer-uses.ts';
import { FailedCalls1765000000016 } from './0016-failed-calls.ts';
import { ConsumerContracts1765100000017 } from './0017-consumer-contracts.ts';
import { KeyLineage1765200000018 } from './0018-key-lineage.ts';
import { OlderSecrets1765300000019 } from './0019-older-secrets.ts';
import { InstanceWebhookKeys1765400000020 } from './0020-instance-webhook-keys.ts';
import { KeyEndings1765500000021 } from './0021-key-endings.ts';
import { Deployment1765600000022 } from './0022-deployment.ts';
import { Invitations1765700000023 } from './0023-invitations.ts';

/** All migrations, oldest first. */
export const migrations = [
  Content1763600000001,
  TagIds1763700000002,
  Search1763700000003,
  ImageSummaries1763800000004,
  Idempotency1763900000005,
  KeyQuotas1764000000006,
  Care1764100000007,
  Takedowns1764200000008,
  Maintenance1764300000009,
  Instances1764400000010,
  Events1764500000011,
  Webhooks1764600000012,
  Names1764700000013,
  WebhookGenerations1764800000014,
  ConsumerUses1764900000015,
  FailedCalls1765000000016,
  ConsumerContracts1765100000017,
  KeyLineage1765200000018,
  OlderSecrets1765300000019,
  InstanceWebhookKeys1765400000020,
  KeyEndings1765500000021,
  Deployment1765600000022,
  Invitations1765700000023,
];
