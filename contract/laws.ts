/**
 * A relation between calls that callers can rely on, beyond the form of each answer. An operation names the laws that hold
 * of it, and `verify` checks them on a deployment: `openapi/kit/conformance/laws/` has the checks of each.
 */
export type Law =
  /** Of a list: a walk by page, or by cursor, meets each record once, in the order that was asked for. */
  | 'pages'
  /** Of a list: each filter leaves what it says, and all of that. */
  | 'filters'
  /** A record tells callers their own reactions and favorites, and no other caller's. */
  | 'viewer'
  /** A list shows the first images of a record, and counts all. */
  | 'shortens'
  /** A record is as its list shows it. */
  | 'agrees'
  /** A read counts a view. */
  | 'views'
  /** A record is stored as it came; it is read, listed, found and counted from then on. */
  | 'publishes'
  /** Records are stored in their order, or not at all. */
  | 'publishesAll'
  /** A record changes by what is given, and by nothing else. */
  | 'updates'
  /** A state of the caller switches on, over and off, and is counted. */
  | 'toggles'
  /** The caller's profile changes by what is given, and by nothing else. */
  | 'restores'
  /** Profiles are as their users and the records of these show them. */
  | 'profiles'
  /** Users are found by their nicknames. */
  | 'finds'
  /** The scopes of the key are told. */
  | 'permits'
  /** Records are counted by type as the list counts them. */
  | 'counts'
  /** Other records are named, each once. */
  | 'relates'
  /** Events have no gap, and tell of each record that is published. */
  | 'follows'
  /** Calls that failed are listed. */
  | 'logs'
  /** A new thing is listed, without its secret. */
  | 'lists'
  /** A new thing takes the place of one with the same name. */
  | 'replaces'
  /** A thing changes by what is sent, and by nothing else. */
  | 'changes'
  /** A removed thing is not found any more. */
  | 'removes'
  /** A revoked key is listed as revoked. */
  | 'revokes'
  /** A secret is replaced by another one. */
  | 'renews'
  /** A key is replaced by one that is like it. */
  | 'rotates'
  /** A message is sent on request. */
  | 'tests'
  /** Deliveries tell how they were answered. */
  | 'delivers'
  /** A delivery can be made again. */
  | 'redelivers';
