/** The patches of test/mutants that a history shows, and the run that shows each. */
const on = (engine, nemesis, names) => names.map((name) => ({ name, engine, nemesis, operations: '2000', seed: '1' }));

export const planted = [
  ...on('sqlite', 'kill', [
    'history-answer-kept-later',
    'history-answer-of-one-not-kept',
    'history-answered-before-commit',
    'history-created-together',
    'history-event-left-out',
    'history-reaction-count-kept',
    'history-read-from-memory',
    'content-seek-each-column',
    'event-filter-skips',
    'event-order',
    'event-outside-transaction',
    'event-page-end-missed',
    'idempotency-any-key',
    'idempotency-other-input',
  ]),
  ...on('mariadb', 'kill', ['db-for-update-left-out', 'db-upsert-stores-nothing']),
];
