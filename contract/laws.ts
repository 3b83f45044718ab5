/**
 * A relation between calls that callers can rely on, beyond the form of each answer. An operation names its laws, and
 * `verify` checks them on a deployment. `openapi/kit/conformance/laws/` has the checks of each law.
 */
export type Law =
  /** A walk through a list by page, or by cursor, meets each record once, in the requested order. */
  | 'pages'
  /** Each filter of a list returns all matching records, and only these. */
  | 'filters'
  /** A record tells callers their own reactions and favorites, and no other caller's. */
  | 'viewer'
  /** A list shows the first images of a record, and the count of all. */
  | 'shortens'
  /** A record looks as in its list. */
  | 'agrees'
  /** A read counts a view. */
  | 'views'
  /** A record is stored as sent; reads, lists, searches and counts show it from then on. */
  | 'publishes'
  /** A batch of records is stored in its order, or not at all. */
  | 'publishesAll'
  /** A change of a record changes the given members, and nothing else. */
  | 'updates'
  /** A deleted record is no longer found or counted. */
  | 'deletes'
  /** A state of the caller switches on, over and off, and is counted. */
  | 'toggles'
  /** A change of the caller's profile changes the given members, and nothing else. */
  | 'restores'
  /** Profiles agree with the current user and with the records of their users. */
  | 'profiles'
  /** Users are found by their nicknames. */
  | 'finds'
  /** The service tells the scopes of the key. */
  | 'permits'
  /** Counts of records by type agree with the list. */
  | 'counts'
  /** A record names related records, each once. */
  | 'relates'
  /** Events have no gap, and announce each new, changed and deleted record. */
  | 'follows'
  /** The service lists failed calls. */
  | 'logs'
  /** A new thing is listed, without its secret. */
  | 'lists'
  /** A new thing takes the place of one with the same name. */
  | 'replaces'
  /** A change of a thing changes the sent members, and nothing else. */
  | 'changes'
  /** A removed thing is no longer found. */
  | 'removes'
  /** A revoked key is listed as revoked. */
  | 'revokes'
  /** A new secret replaces the old one. */
  | 'renews'
  /** A new key with the same properties replaces the old one. */
  | 'rotates'
  /** The service sends a message on request. */
  | 'tests'
  /** Deliveries show the answers of the endpoint. */
  | 'delivers'
  /** The service repeats a delivery on request. */
  | 'redelivers';
