import { z } from 'zod';
import { Author, Id, Tag, Timestamp, wholeNumber } from './common.ts';
import { exampleEvent, exampleUpdate } from './examples.ts';
import { GameSummary } from './game.ts';
import { ImagePostSummary } from './image.ts';
import { lengths, MAX_EVENTS, MAX_TAIL_SECONDS, RECENT_EVENTS_SECONDS } from './limits.ts';
import { procedure, router, stream } from './procedure.ts';
import { text } from './text.ts';

export const eventTypes = [
  'game.created',
  'game.updated',
  'game.deleted',
  'game.reactionsChanged',
  'image.created',
  'image.updated',
  'image.deleted',
  'image.reactionsChanged',
  'user.created',
  'user.updated',
  'user.deleted',
  'tag.updated',
  'tag.merged',
] as const;
export type EventType = (typeof eventTypes)[number];

export const EventType = z.enum(eventTypes).meta({
  id: 'EventType',
  description:
    'The kind of a change. A record that is hidden is `deleted`, and one that is shown again is `created`. `reactionsChanged` tells of likes, dislikes and favorites, once a second for each record at most.',
});

/** The kinds of records that events describe. */
export const eventKinds = ['game', 'image', 'user', 'tag'] as const;

const EventRecord = z
  .object({
    kind: z.enum(eventKinds).meta({ id: 'EventRecordKind', description: 'The kind of a record.' }),
    id: z.string().describe('The id of the record; of a tag, its slug'),
  })
  .meta({ id: 'EventRecord', description: 'The record that an event tells of.' });

const now = 'as it is now; null if there is none. Only with `include`';

/** An event as callers receive it. */
export const Event = z
  .object({
    id: z.string().describe('The id of the event, by which a program knows one that it has seen'),
    position: z.int().min(1).describe('The place in the order of all events; positions have no gaps'),
    type: EventType,
    record: EventRecord,
    actorId: z
      .string()
      .nullable()
      .describe('The id of the user who made the change; null for the operator, and for reactions'),
    at: Timestamp.describe('When it happened'),
    game: GameSummary.nullable().optional().describe(`The game ${now}`),
    imagePost: ImagePostSummary.nullable().optional().describe(`The image post ${now}`),
    user: Author.nullable().optional().describe(`The user ${now}`),
    tag: Tag.nullable().optional().describe(`The tag ${now}; of a merged tag, the one that took its place`),
  })
  .meta({ id: 'Event', description: 'A change of a record.' });

const EventStart = z.enum(['earliest', 'recent', 'latest']).meta({
  id: 'EventStart',
  description: `Where to begin without a cursor: at the oldest event that is kept, ${RECENT_EVENTS_SECONDS} seconds back, or after the last event.`,
});

const EventInclusion = z
  .enum(['record'])
  .meta({ id: 'EventInclusion', description: 'What to add to each event: the record as it is now.' });

/** The hint about a cursor of events: unlike the catalogue's, it does not mention filters. */
export const eventCursorHint =
  'Pass as `after`, unchanged, a `nextCursor` of `event.list` or the `id` of a message of `event.tail`. Without one, begin by `start`.';

const members = {
  after: text(1, lengths.cursor)
    .optional()
    .describe(
      'The `nextCursor` of an earlier reply, or the `id` of a message of `event.tail`. Filters may differ from those it was made with',
    ),
  types: z.array(EventType).min(1).max(eventTypes.length).optional().describe('Only events of these types'),
  recordId: Id.optional().describe('Only events of this record; of a tag, by its slug'),
  include: EventInclusion.optional().describe('Adds to each event the record as it is now'),
};

export const event = router('event', {
  list: procedure({
    summary: 'List events',
    description: `Lists the changes of games, image posts, users and tags, in order and without gaps: the feed for copies. Pass each \`nextCursor\` as \`after\`; when \`hasMore\` is false, wait a moment and ask again. With \`start\` \`recent\` or \`latest\` the reply has no items, but a cursor to go on from. An event is in the list within a second of its change, and is kept for 30 days unless the operator chose otherwise.`,
    access: 'public',
    effect: 'read',
    input: z.strictObject({
      ...members,
      start: EventStart.default('earliest').describe(
        `Where to begin without \`after\`: at the oldest event, ${RECENT_EVENTS_SECONDS} seconds back, or after the last event`,
      ),
      limit: wholeNumber(1, MAX_EVENTS).default(MAX_EVENTS).describe('The most events to return'),
    }),
    output: z.object({
      items: z.array(Event).describe('The events, the oldest first'),
      nextCursor: z.string().describe('Send it as `after` to get the events that follow; it is always there'),
      hasMore: z.boolean().describe('Whether more events are there already'),
    }),
    laws: ['follows'],
    errors: ['CURSOR_INVALID', 'EVENTS_GONE', 'EVENTS_OFF'],
    hints: { CURSOR_INVALID: eventCursorHint },
    example: {
      input: { start: 'earliest', types: ['game.created', 'image.updated'], limit: MAX_EVENTS },
      output: { items: [exampleEvent, exampleUpdate], nextCursor: 'WzIsIjAxOWEzYzVlLWE1NTAiXQ', hasMore: false },
    },
  }),
  tail: stream({
    summary: 'Send events as they happen',
    description: `Keeps the reply open and sends the events as they happen, as Server-Sent Events: each message has an event in its \`data\`, as \`{"json": {…}}\`, and in its \`id\` the cursor that leads to the next one. Without \`maxDuration\` it goes on until you close it, so a client that waits for a whole reply sends one. Browsers' \`EventSource\` and tRPC's subscriptions open the same by GET.`,
    input: z.strictObject({
      ...members,
      start: EventStart.default('latest').describe(
        `Where to begin without \`after\`: at the oldest event, ${RECENT_EVENTS_SECONDS} seconds back, or after the last event`,
      ),
      maxDuration: wholeNumber(1, MAX_TAIL_SECONDS)
        .optional()
        .describe(
          'The number of seconds after which the stream ends, with a message `return`. Without it, the stream has no end',
        ),
    }),
    output: Event,
    errors: ['CURSOR_INVALID', 'EVENTS_GONE', 'EVENTS_OFF'],
    hints: { CURSOR_INVALID: eventCursorHint },
    example: {
      input: { start: 'latest', types: ['game.created', 'image.updated'], maxDuration: 10 },
      output: exampleEvent,
    },
  }),
});

/**
 * The input of `event.tail` as tRPC's clients send it: they add the id of the last event that they received, which
 * replaces `after`.
 */
export const TailSubscription = event.tail.body.shape.json.extend({
  lastEventId: text(1, lengths.cursor).nullable().optional(),
});
