import { EntitySchema } from 'typeorm';
import type { DeliveryState, EventType, WebhookState } from '../../../contract/index.ts';
import { columnTypes, idTransformer, jsonTransformer } from '../../db/sql/columns.ts';
import type { Engine } from '../../db/dialect.ts';
import { repositoryOf } from '../../db/manager.ts';
import type { EventRow } from '../outbox/entity.ts';

/** A replaced secret as it is stored, and the time until which it signs. */
export interface FormerSecret {
  secret: string;
  until: string;
}

/** A webhook as it is stored. */
export interface WebhookRow {
  id: string;
  userId: string;
  url: string;
  secret: string;
  /** Also signs for a while after the current secret was made. */
  oldSecret: string | null;
  oldSecretUntil: Date | null;
  /** The secrets before the old one, latest first. They also sign for a while. */
  olderSecrets: FormerSecret[] | null;
  /** null for all types. */
  types: EventType[] | null;
  /** Limits the events to this record. */
  recordId: string | null;
  state: WebhookState;
  /** Why it is paused or disabled. */
  reason: string | null;
  /** The number of failed challenges. */
  attempts: number;
  /** Since when no delivery has succeeded. */
  failingSince: Date | null;
  /** The position of the last event for which deliveries are stored. */
  position: number;
  positionId: string;
  /** When the next delivery or challenge is due; while a process delivers, the end of its lease. */
  nextAt: Date;
  /** Counts address changes and new challenges: an answer only counts for the generation that it was asked of. */
  generation: number;
  /** The lease of the process that delivers. */
  leaseUntil: Date;
  holder: string;
  createdAt: Date;
  updatedAt: Date;
}

/** The replaced secrets of a webhook that still sign, latest first. */
export const formerSecrets = (
  { oldSecret, oldSecretUntil, olderSecrets }: Pick<WebhookRow, 'oldSecret' | 'oldSecretUntil' | 'olderSecrets'>,
  now: Date,
): FormerSecret[] =>
  [
    ...(oldSecret === null || oldSecretUntil === null
      ? []
      : [{ secret: oldSecret, until: oldSecretUntil.toISOString() }]),
    ...(olderSecrets ?? []),
  ].filter(({ until }) => Date.parse(until) > now.getTime());

/** Counts the unanswered challenges of an owner or to a host. */
export interface ChallengeRow {
  id: string;
  unanswered: number;
  /** When the next challenge may be sent. */
  freeAt: Date;
}

/** A message to a webhook, and its event. */
export interface DeliveryRow extends Omit<EventRow, 'id'> {
  id: string;
  webhookId: string;
  eventId: string;
  state: DeliveryState;
  attempts: number;
  nextAt: Date;
  answeredAt: Date | null;
  /** The HTTP status of the last answer. */
  status: number | null;
  /** The beginning of the last answer, or the reason why it is missing. */
  answer: string | null;
}

/** The event of a delivery. */
export const eventOf = ({ eventId, ...delivery }: DeliveryRow): EventRow => ({ ...delivery, id: eventId });

export const webhooksIn = repositoryOf<WebhookRow>('Webhook');
export const deliveriesIn = repositoryOf<DeliveryRow>('WebhookDelivery');
export const challengesIn = repositoryOf<ChallengeRow>('WebhookChallenge');

export const webhookEntities = (engine: Engine): EntitySchema[] => {
  const { id, text, longText, time, small, big, count } = columnTypes(engine);
  const key = (name: string) => ({ ...id, name, transformer: idTransformer }) as const;
  const nullable = { nullable: true } as const;
  return [
    new EntitySchema<WebhookRow>({
      name: 'Webhook',
      tableName: 'webhooks',
      columns: {
        id: { ...key('id'), primary: true },
        userId: key('user_id'),
        url: text(2048),
        secret: text(100),
        oldSecret: { ...text(100), ...nullable, name: 'old_secret' },
        oldSecretUntil: { ...time, ...nullable, name: 'old_secret_until' },
        olderSecrets: { ...longText, ...nullable, transformer: jsonTransformer, name: 'older_secrets' },
        types: { ...longText, ...nullable, transformer: jsonTransformer },
        recordId: { ...text(200), ...nullable, name: 'record_id' },
        state: text(10),
        reason: { ...text(300), ...nullable },
        attempts: small,
        failingSince: { ...time, ...nullable, name: 'failing_since' },
        position: big,
        positionId: key('position_id'),
        nextAt: { ...time, name: 'next_at' },
        leaseUntil: { ...time, name: 'lease_until' },
        holder: key('holder'),
        generation: { ...count, default: 0 },
        createdAt: { ...time, name: 'created_at' },
        updatedAt: { ...time, name: 'updated_at' },
      },
      indices: [
        { name: 'webhooks_due', columns: ['state', 'nextAt'] },
        { name: 'webhooks_user', columns: ['userId'] },
      ],
      foreignKeys: [
        {
          name: 'fk_webhooks_user',
          target: 'User',
          columnNames: ['userId'],
          referencedColumnNames: ['id'],
          onDelete: 'CASCADE',
        },
      ],
    }),
    new EntitySchema<ChallengeRow>({
      name: 'WebhookChallenge',
      tableName: 'webhook_challenges',
      columns: {
        id: { ...key('id'), primary: true },
        unanswered: count,
        freeAt: { ...time, name: 'free_at' },
      },
      indices: [{ name: 'webhook_challenges_swept', columns: ['freeAt'] }],
    }),
    new EntitySchema<DeliveryRow>({
      name: 'WebhookDelivery',
      tableName: 'webhook_deliveries',
      columns: {
        id: { ...key('id'), primary: true },
        webhookId: key('webhook_id'),
        position: big,
        eventId: key('event_id'),
        type: small,
        recordId: key('record_id'),
        slug: { ...text(200), ...nullable },
        actorId: { ...key('actor_id'), ...nullable },
        happenedAt: { ...time, name: 'happened_at' },
        state: text(10),
        attempts: small,
        nextAt: { ...time, name: 'next_at' },
        answeredAt: { ...time, ...nullable, name: 'answered_at' },
        status: { ...small, ...nullable },
        answer: { ...text(200), ...nullable },
      },
      indices: [
        { name: 'webhook_deliveries_due', columns: ['webhookId', 'state', 'nextAt'] },
        { name: 'webhook_deliveries_record', columns: ['webhookId', 'recordId', 'state', 'position'] },
        { name: 'webhook_deliveries_swept', columns: ['state', 'happenedAt'] },
      ],
      foreignKeys: [
        {
          name: 'fk_webhook_deliveries_webhook',
          target: 'Webhook',
          columnNames: ['webhookId'],
          referencedColumnNames: ['id'],
          onDelete: 'CASCADE',
        },
      ],
    }),
  ];
};
