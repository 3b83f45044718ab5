/** The patches of test/mutants that a simulation shows. */
export const planted = [
  'event-order',
  'event-outside-transaction',
  'history-answer-kept-later',
  'history-answer-of-one-not-kept',
  'history-answered-before-commit',
  'history-created-together',
  'history-event-left-out',
  'history-reaction-count-kept',
  'history-read-from-memory',
  'idempotency-any-key',
  'idempotency-other-input',
  'time-answers-kept-longer',
  'time-deliveries-not-swept',
];
